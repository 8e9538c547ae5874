#include "tools/options/plan_options.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/options/model_option.hpp"
#include "tools/options/option_sources.hpp"
#include "tools/options/parallel_options.hpp"
#include "tools/options/plan_reader.hpp"
#include "tools/options/plan_words.hpp"
#include "tools/text/parse_text.hpp"
#include "workloads/plan/framework_profile.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

// Limits of single options: far above any real run, low enough that no product of a few overflows.
constexpr std::int64_t kMostSequences = 1'000'000;
constexpr std::int64_t kMostTokens = 100'000'000;
constexpr std::int64_t kMostSteps = 10'000;

void read_seq(PlanReader& reader, TrainingPlan& plan) {
  const auto given = reader.text("seq");
  if (!given) {
    return;
  }
  std::vector<std::int64_t> lengths;
  for (const std::string& part : split(*given, ',')) {
    lengths.push_back(reader.integer<std::int64_t>("seq", part, 1, kMostTokens).value_or(1));
  }
  plan.seq = lengths;
}

/// "every-2" is the word "every-" and a number; the same for "chunked-16".
template <class Kind, std::size_t N>
void read_numbered(PlanReader& reader, const std::string& option,
                   const std::array<Word<Kind>, N>& words, std::string_view stem, Kind numbered,
                   Kind& kind, int& number) {
  const auto given = reader.text(option);
  if (!given || !given->starts_with(stem)) {
    reader.word(option, words, kind);
    return;
  }
  const std::string_view rest = std::string_view(*given).substr(stem.size());
  if (const auto n = parse_number<int>(rest); n && *n >= 1) {
    kind = numbered;
    number = *n;
  } else {
    reader.complain(option, *given,
                    fmt::format("behind {} belongs a number from 1 on, as in {}2", stem, stem));
  }
}

void read_checkpoint(PlanReader& reader, Framework framework, Checkpoint& checkpoint) {
  read_numbered(reader, "checkpoint", kCheckpoints, "every-", CheckpointKind::every_n,
                checkpoint.kind, checkpoint.n);
  if (reader.text("checkpoint") == "selective") {
    checkpoint.kind = selective_kind(framework);
  }
  // A framework's own implementation says nothing where nothing is checkpointed.
  if (checkpoint.kind == CheckpointKind::none && !reader.text("checkpoint-impl")) {
    checkpoint.reentrant = false;
  }
  reader.word("checkpoint-impl", kCheckpointImpls, checkpoint.reentrant);
}

void read_loss(PlanReader& reader, Loss& loss) {
  const auto given = reader.text("loss");
  if (given && *given == "chunked") {
    loss.kind = LossKind::chunked;
  } else {
    read_numbered(reader, "loss", kLosses, "chunked-", LossKind::chunked, loss.kind, loss.chunks);
  }
}

void read_optimizer(PlanReader& reader, TrainingPlan& plan) {
  Optimizer& optimizer = plan.optimizer;
  reader.word("optimizer", kOptimizers, optimizer.kind);
  reader.word("optimizer-impl", kOptimizerImpls, optimizer.impl);
  reader.count("param-groups", optimizer.param_groups, 1, 2);
  reader.word("master-weights", kYesNo, optimizer.master_weights);
  reader.word("optimizer-in-backward", kYesNo, optimizer.in_backward);
  reader.word("set-to-none", kYesNo, plan.set_to_none);
  reader.word("zero-grad-at", kZeroGradAt, plan.zero_grad_at);
  if (reader.text("grad-clip") == "none") {
    plan.grad_clip.reset();
  } else if (const auto norm = reader.real("grad-clip", 1e-12, 1e12, "above 0, or none")) {
    plan.grad_clip = norm;
  }
}

void read_lora(PlanReader& reader, Lora& lora) {
  reader.count("lora", lora.rank, 0, 65536);
  lora.dropout = reader.real("lora-dropout", 0, 1, "from 0 to 1").value_or(0);
  if (const auto given = reader.text("lora-targets")) {
    lora.targets = split(*given, ',');
    if (std::ranges::any_of(lora.targets, &std::string::empty)) {
      reader.complain("lora-targets", *given, "an empty name; write them as q_proj,v_proj");
    }
  }
}

void read_batches(PlanReader& reader, TrainingPlan& plan) {
  reader.count("batch", plan.batch, 1, kMostSequences);
  read_seq(reader, plan);
  reader.count("steps", plan.steps, 1, kMostSteps);
  reader.count("grad-accum", plan.grad_accum, 1, kMostSteps);
  reader.word("data", kDataSources, plan.data);
  reader.word("attention-mask", kYesNo, plan.attention_mask);
}

void read_computation(PlanReader& reader, TrainingPlan& plan) {
  reader.word("model-code", kModelCodes, plan.model_code);
  reader.word("precision", kPrecisions, plan.precision);
  reader.word("attention", kAttentions, plan.attention);
  if (reader.text("dropout") != "none") {
    plan.dropout = reader.real("dropout", 0, 1, "from 0 to 1, or none for the model's own");
  }
  reader.word("keep-logits", kYesNo, plan.keep_logits);
  reader.word("use-cache", kYesNo, plan.use_cache);
  reader.word("mode", kModes, plan.training);
  reader.word("init", kInits, plan.init);
  reader.word("experts", kExperts, plan.experts);
  reader.word("empty-cache-every-step", kYesNo, plan.empty_cache_every_step);
}

std::vector<std::string> gpu_names() {
  std::vector<std::string> names;
  for (const Gpu& gpu : known_gpus()) {
    names.emplace_back(gpu.name);
  }
  return names;
}

bool read_gpu(PlanReader& reader, Gpu& target) {
  const auto given = reader.text("gpu");
  if (!given) {
    return false;
  }
  if (const Gpu* gpu = find_gpu(*given)) {
    target = *gpu;
  } else {
    reader.complain("gpu", *given, "unknown GPU; " + remedy(*given, gpu_names()));
  }
  return true;
}

/// "2.6" out of "2.6", "2.6.0" or "2.6.0+cu124".
std::optional<std::string> release_of(std::string_view text) {
  const std::vector<std::string> parts = split(text.substr(0, text.find('+')), '.');
  const auto is_number = [](const std::string& part) {
    return parse_number<unsigned>(part).has_value();
  };
  if (parts.size() < 2 || !is_number(parts[0]) || !is_number(parts[1])) {
    return std::nullopt;
  }
  return parts[0] + "." + parts[1];
}

void read_version(PlanReader& reader, const std::string& option, std::string& target) {
  if (const auto given = reader.text(option)) {
    if (const auto release = release_of(*given)) {
      target = *release;
    } else {
      reader.complain(option, *given,
                      fmt::format("not a release; write it as MAJOR.MINOR, e.g. {}", target));
    }
  }
}

/// A file that cannot be read is bad input (exit 3), unless the command line has mistakes too.
std::optional<InputError> read_model_option(PlanReader& reader, std::vector<std::string>& problems,
                                            ModelSpec& model) {
  const auto given = reader.text("model");
  if (!given) {
    problems.emplace_back(
        "--model is missing; give a name ('highwater models' lists them) or a config.json");
    return std::nullopt;
  }
  try {
    model = model_option(*given);
  } catch (const InputError& error) {
    return error;
  } catch (const UsageError& error) {
    problems.push_back(fmt::format("--model {}", error.what()));
  }
  return std::nullopt;
}

void add_computation_options(OptionParser& parser) {
  parser.add()("model", text_value("NAME|FILE"),
               "a known model ('highwater models') or a config.json")(
      "model-code", text_value("C"),
      "whose Python code runs: hf (transformers), torchtitan or megatron")(
      "framework", text_value("F"),
      "whose training loop, with its defaults, each overridable: torch, megatron (Megatron-LM), "
      "nemo (the same with Apex's DistributedFusedAdam), colossalai-gemini (LLMem's scripts), or "
      "deepspeed: give --dp-kind zero1, zero2 or zero3 too, as stage 0, the default of "
      "runtime/zero/config.py, is its engine without ZeRO, which is not simulated")(
      "batch", text_value("N"), "sequences per micro-batch")(
      "seq", text_value("N[,N...]"), "tokens per sequence, one length per micro-batch")(
      "precision", text_value("P"), choices(kPrecisions).c_str())(
      "attention", text_value("A"), choices(kAttentions).c_str())("checkpoint", text_value("C"),
                                                                  choices(kCheckpoints).c_str())(
      "checkpoint-impl", text_value("I"), "nonreentrant or reentrant")(
      "dropout", text_value("P"), "replaces the model's own probabilities")(
      "loss", text_value("L"), choices(kLosses).c_str())(
      "keep-logits", flag_value(), "the model's output lives until the next forward has returned")(
      "use-cache", flag_value(), "the model returns keys and values")(
      "attention-mask", flag_value(), "a [batch, seq] mask is given to the model")(
      "data", text_value("D"), "batches are copied (to) or made on the device (device)")(
      "init", text_value("I"),
      "the model is made on the device, on cpu or on meta, or pretrained-half: in fp32, then "
      "converted")("experts", text_value("E"), "how a mixture routes: eager, even or batched_mm")(
      "mode", text_value("M"), "train, or eval: forward only, without gradients");
}

void add_training_options(OptionParser& parser) {
  parser.add()("optimizer", text_value("O"), choices(kOptimizers).c_str())(
      "optimizer-impl", text_value("I"), choices(kOptimizerImpls).c_str())(
      "param-groups", text_value("N"), "2: norms and biases in a group of their own")(
      "master-weights", flag_value(), "fp32 copies of low-precision parameters")(
      "optimizer-in-backward", flag_value(),
      "each parameter is updated when its gradient is ready")("grad-clip", text_value("NORM"),
                                                              "clip the gradient norm")(
      "grad-accum", text_value("N"), "micro-batches per step")("steps", text_value("N"),
                                                               "training steps")(
      "set-to-none", flag_value(), "zero_grad frees the gradients")("zero-grad-at", text_value("W"),
                                                                    "end or start of the step")(
      "empty-cache-every-step", flag_value(), "torch.cuda.empty_cache() at the end of each step")(
      "lora", text_value("R"), "train LoRA adapters of this rank, the model frozen; 0: none")(
      "lora-targets", text_value("A,B"), "module names that get adapters")(
      "lora-dropout", text_value("P"), "dropout before the adapters")(
      "gpu", text_value("NAME"), fmt::format("{}", fmt::join(gpu_names(), ", ")).c_str())(
      "torch", text_value("V"), "PyTorch release whose behaviour is modelled")(
      "transformers", text_value("V"), "transformers release");
}

}  // namespace

void add_plan_options(OptionParser& parser) {
  add_computation_options(parser);
  add_training_options(parser);
  add_parallel_options(parser);
  for (const std::string& option : parser.names()) {
    parser.note(option, default_lines(option));
  }
}

PlannedRun read_plan_options(const po::variables_map& values, std::vector<std::string>& problems) {
  PlannedRun run;
  PlanReader reader(values, problems);
  const auto unreadable = read_model_option(reader, problems, run.plan.model);
  Framework framework = Framework::torch;
  reader.word("framework", kFrameworks, framework);
  apply_framework(framework, run.plan);
  read_computation(reader, run.plan);
  read_batches(reader, run.plan);
  read_checkpoint(reader, framework, run.plan.checkpoint);
  read_loss(reader, run.plan.loss);
  read_optimizer(reader, run.plan);
  read_lora(reader, run.plan.lora);
  run.gpu_named = read_gpu(reader, run.plan.gpu);
  read_parallel_options(reader, run.plan.parallel);
  read_version(reader, "torch", run.plan.versions.torch);
  read_version(reader, "transformers", run.plan.versions.transformers);
  if (!values.contains("attention") && !supports_sdpa(run.plan)) {
    run.plan.attention = Attention::eager;  // transformers' own choice for such classes
  }
  if (!values.contains("init") && is_fsdp2(run.plan.parallel)) {
    run.plan.init =
        ModelInit::meta;  // as torchtitan's train.py: no rank ever holds the whole model
  }
  if (unreadable && problems.empty()) {
    throw *unreadable;
  }
  if (unreadable) {
    problems.emplace_back(unreadable->what());
  }
  return run;
}

PlannedRun read_plan(const po::variables_map& values, std::vector<std::string> problems,
                     PlanUse use) {
  PlannedRun run = read_plan_options(values, problems);
  if (!run.plan.model.name.empty()) {  // without a model most rules have nothing to look at
    std::ranges::move(plan_problems(run.plan), std::back_inserter(problems));
  }
  if (use == PlanUse::generate) {
    std::ranges::move(generator_gaps(run.plan), std::back_inserter(problems));
  }
  if (!problems.empty()) {
    throw UsageErrors(std::move(problems));
  }
  return run;
}

}  // namespace highwater
