#include "tools/plan_options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/framework_words.hpp"
#include "tools/model_option.hpp"
#include "tools/parse_text.hpp"
#include "tools/plan_words.hpp"
#include "tools/safe_text.hpp"
#include "workloads/dist/colossalai/gemini_profile.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

template <class Value, std::size_t N>
std::vector<std::string> list_of(const std::array<Word<Value>, N>& words) {
  std::vector<std::string> list;
  for (const Word<Value>& word : words) {
    list.emplace_back(word.word);
  }
  return list;
}

/// "; did you mean X?" or the list of what there is.
std::string remedy(std::string_view word, const std::vector<std::string>& known) {
  if (const auto meant = nearest_word(word, known)) {
    return fmt::format("did you mean {}? (known: {})", *meant, fmt::join(known, ", "));
  }
  return fmt::format("use one of {}", fmt::join(known, ", "));
}

/// Reads options into members; what is wrong goes to a list and leaves the member as it was.
class PlanReader {
 public:
  PlanReader(const po::variables_map& values, std::vector<std::string>& problems)
      : values_(&values), problems_(&problems) {}

  [[nodiscard]] std::optional<std::string> text(const std::string& option) const {
    return text_option(*values_, option);
  }

  void complain(const std::string& option, std::string_view value, std::string_view what) {
    problems_->push_back(fmt::format("--{} {}: {}", option, printable(value), what));
  }

  template <class Value, std::size_t N>
  void word(const std::string& option, const std::array<Word<Value>, N>& words, Value& target) {
    if (const auto given = text(option)) {
      const auto found = std::ranges::find(words, *given, &Word<Value>::word);
      if (found == words.end()) {
        complain(option, *given, "unknown; " + remedy(*given, list_of(words)));
      } else {
        target = found->value;
      }
    }
  }

  /// A whole number of at least `least` and not above `most`.
  template <class Number>
  std::optional<Number> integer(const std::string& option, std::string_view given,
                                std::int64_t least, std::int64_t most) {
    const auto number = parse_number<std::int64_t>(given);
    if (!number) {
      complain(option, given, "not a whole number");
    } else if (*number < least || *number > most) {
      complain(option, given, fmt::format("give a number from {} to {}", least, most));
    } else {
      return static_cast<Number>(*number);
    }
    return std::nullopt;
  }

  template <class Number>
  void count(const std::string& option, Number& target, std::int64_t least, std::int64_t most) {
    if (const auto given = text(option)) {
      target = integer<Number>(option, *given, least, most).value_or(target);
    }
  }

  std::optional<double> real(const std::string& option, double least, double most,
                             std::string_view range) {
    const auto given = text(option);
    if (!given) {
      return std::nullopt;
    }
    const auto number = parse_number<double>(*given);
    if (!number || !(*number >= least && *number <= most)) {
      complain(option, *given, fmt::format("give a number {}", range));
      return std::nullopt;
    }
    return number;
  }

 private:
  const po::variables_map* values_;
  std::vector<std::string>* problems_;
};

// Limits of single options: far above any real run, low enough that no product of a few overflows.
constexpr std::int64_t kMostSequences = 1'000'000;
constexpr std::int64_t kMostTokens = 100'000'000;
constexpr std::int64_t kMostSteps = 10'000;
constexpr std::int64_t kMostRanks = 1 << 20;
constexpr std::int64_t kMostLag = 1'000'000;

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

void read_checkpoint(PlanReader& reader, Checkpoint& checkpoint) {
  read_numbered(reader, "checkpoint", kCheckpoints, "every-", CheckpointKind::every_n,
                checkpoint.kind, checkpoint.n);
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
  if (reader.text("grad-clip") != "none") {
    plan.grad_clip = reader.real("grad-clip", 1e-12, 1e12, "above 0, or none");
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

/// Sets the framework's defaults, before any other option is read.
void read_framework(PlanReader& reader, TrainingPlan& plan) {
  Framework framework = plan.framework;
  reader.word("framework", kFrameworks, framework);
  if (framework == Framework::colossalai_gemini) {
    dist::apply_gemini_profile(plan);
  }
}

void read_parallelism(PlanReader& reader, Parallelism& parallel) {
  reader.count("dp", parallel.dp, 1, kMostRanks);
  reader.word("dp-kind", kDataParallels, parallel.dp_kind);
  reader.count("tp", parallel.tp, 1, kMostRanks);
  reader.word("tp-kind", kTensorParallels, parallel.tp_kind);
  reader.word("sp", kYesNo, parallel.sequence_parallel);
  reader.count("pp", parallel.pp, 1, kMostRanks);
  reader.word("pp-schedule", kSchedules, parallel.schedule);
  reader.count("pp-chunks", parallel.chunks, 1, kMostRanks);
  reader.count("cp", parallel.cp, 1, kMostRanks);
  reader.count("ep", parallel.ep, 1, kMostRanks);
  reader.word("offload", kOffloads, parallel.offload);
  if (reader.text("bucket-cap-mb") != "default") {
    parallel.ddp.bucket_cap_mb =
        reader.real("bucket-cap-mb", 1e-6, 1e9, "above 0, or default for 1 and then 25");
  }
  reader.word("bucket-view", kYesNo, parallel.ddp.bucket_view);
  reader.word("static-graph", kYesNo, parallel.ddp.static_graph);
  reader.word("no-sync", kYesNo, parallel.no_sync);
  reader.word("backend", kCommBackends, parallel.backend);
  reader.count("event-lag", parallel.event_lag, 0, kMostLag);
  reader.count("event-queries", parallel.event_queries, 0, kMostLag);
}

template <class Value, std::size_t N>
std::string choices(const std::array<Word<Value>, N>& words, std::string_view more = "") {
  return fmt::format("{}{}", fmt::join(list_of(words), ", "), more);
}

void add_computation_options(OptionParser& parser) {
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  const auto flag = [] {
    return po::value<std::string>()->implicit_value("true")->value_name("BOOL");
  };
  parser.add()("model", text("NAME|FILE"), "a known model ('highwater models') or a config.json")(
      "model-code", text("C"), "whose Python code runs: hf (default) or torchtitan")(
      "batch", text("N"), "sequences per micro-batch; default 1")(
      "seq", text("N[,N...]"), "tokens per sequence, one length per micro-batch; default 1024")(
      "precision", text("P"), (choices(kPrecisions) + "; default fp32").c_str())(
      "attention", text("A"), (choices(kAttentions) + "; default sdpa").c_str())(
      "checkpoint", text("C"), (choices(kCheckpoints) + "; default none").c_str())(
      "checkpoint-impl", text("I"), "nonreentrant (default) or reentrant")(
      "dropout", text("P"), "replaces the model's own probabilities")(
      "loss", text("L"), (choices(kLosses) + "; default hf").c_str())(
      "keep-logits", flag(), "the model's output lives until the next forward has returned")(
      "use-cache", flag(), "the model returns keys and values")(
      "attention-mask", flag(), "a [batch, seq] mask is given to the model")(
      "data", text("D"), "batches are copied (to, default) or made on the device (device)")(
      "init", text("I"),
      "the model is made on the device (default), on cpu or on meta, or pretrained-half: in fp32, "
      "then converted")("experts", text("E"),
                        "how a mixture routes: eager (default), even or batched_mm")(
      "mode", text("M"), "train (default) or eval: forward only, without gradients");
}

void add_training_options(OptionParser& parser) {
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  const auto flag = [] {
    return po::value<std::string>()->implicit_value("true")->value_name("BOOL");
  };
  parser.add()("optimizer", text("O"), (choices(kOptimizers) + "; default adamw").c_str())(
      "optimizer-impl", text("I"), (choices(kOptimizerImpls) + "; default as torch picks").c_str())(
      "param-groups", text("N"), "2: norms and biases in a group of their own; default 1")(
      "master-weights", flag(), "fp32 copies of low-precision parameters")(
      "optimizer-in-backward", flag(), "each parameter is updated when its gradient is ready")(
      "grad-clip", text("NORM"), "clip the gradient norm")(
      "grad-accum", text("N"), "micro-batches per step; default 1")("steps", text("N"),
                                                                    "training steps; default 3")(
      "set-to-none", flag(), "zero_grad frees the gradients; default true")(
      "zero-grad-at", text("W"), "end (default) or start of the step")(
      "empty-cache-every-step", flag(), "torch.cuda.empty_cache() at the end of each step")(
      "lora", text("R"), "train LoRA adapters of this rank, the model frozen; default 0: none")(
      "lora-targets", text("A,B"), "module names that get adapters; default as PEFT chooses")(
      "lora-dropout", text("P"), "dropout before the adapters; default 0")(
      "gpu", text("NAME"), fmt::format("{}", fmt::join(gpu_names(), ", ")).c_str())(
      "torch", text("V"), "PyTorch release whose behaviour is modelled; default 2.6")(
      "transformers", text("V"), "transformers release; default 5.12");
}

void add_parallel_options(OptionParser& parser) {
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  const auto flag = [] {
    return po::value<std::string>()->implicit_value("true")->value_name("BOOL");
  };
  parser.add()("framework", text("F"),
               "defaults of a training framework, each overridable: torch (default), "
               "colossalai-gemini (LLMem's scripts: Gemini chunks, HybridAdam, fp16, reentrant "
               "checkpointing)")(
      "dp", text("N"),
      "data-parallel ranks; default 1. Simulated with ddp, other kinds by closed forms "
      "only, so far")("dp-kind", text("K"), (choices(kDataParallels) + "; default ddp").c_str())(
      "tp", text("N"), "tensor-parallel ranks; default 1")(
      "tp-kind", text("K"), (choices(kTensorParallels) + "; default megatron").c_str())(
      "sp", po::value<std::string>()->implicit_value("true")->value_name("BOOL"),
      "Megatron's sequence parallelism along the tensor-parallel ranks")(
      "pp", text("N"), "pipeline stages; default 1")(
      "pp-schedule", text("S"), (choices(kSchedules) + "; default 1f1b").c_str())(
      "pp-chunks", text("N"), "model chunks per rank of an interleaved schedule; default 2")(
      "cp", text("N"), "context-parallel ranks; default 1")("ep", text("N"),
                                                            "expert-parallel ranks; default 1")(
      "offload", text("W"), (choices(kOffloads) + "; default none").c_str())(
      "bucket-cap-mb", text("MIB"),
      "size of DDP's gradient buckets; default 25, and 1 for the first")(
      "bucket-view", flag(), "gradients are views into DDP's buckets (gradient_as_bucket_view)")(
      "static-graph", flag(), "DDP is told that the graph never changes")(
      "no-sync", flag(), "gradients are reduced after the last micro-batch of a step only")(
      "backend", text("B"), "what carries collectives: nccl (default) or fake, which does nothing")(
      "event-lag", text("N"),
      "kernel launches by which events of other streams complete late; default 0")(
      "event-queries", text("N"), "times an event is found incomplete; default 0");
}

}  // namespace

void add_plan_options(OptionParser& parser) {
  add_computation_options(parser);
  add_training_options(parser);
  add_parallel_options(parser);
}

PlannedRun read_plan_options(const po::variables_map& values, std::vector<std::string>& problems) {
  PlannedRun run;
  PlanReader reader(values, problems);
  const auto unreadable = read_model_option(reader, problems, run.plan.model);
  read_framework(reader, run.plan);
  read_computation(reader, run.plan);
  read_batches(reader, run.plan);
  read_checkpoint(reader, run.plan.checkpoint);
  read_loss(reader, run.plan.loss);
  read_optimizer(reader, run.plan);
  read_lora(reader, run.plan.lora);
  run.gpu_named = read_gpu(reader, run.plan.gpu);
  read_parallelism(reader, run.plan.parallel);
  read_version(reader, "torch", run.plan.versions.torch);
  read_version(reader, "transformers", run.plan.versions.transformers);
  if (!values.contains("attention") && !supports_sdpa(run.plan)) {
    run.plan.attention = Attention::eager;  // transformers' own choice for such classes
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
