#include "tools/plan_options.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <limits>
#include <span>

#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/model_option.hpp"
#include "tools/parse_text.hpp"
#include "tools/plan_words.hpp"
#include "tools/safe_text.hpp"
#include "tools/zero_words.hpp"
#include "workloads/framework_profile.hpp"

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
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;

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

void read_megatron(PlanReader& reader, Parallelism& parallel) {
  Megatron& megatron = parallel.megatron;
  reader.word("overlap-grad-reduce", kYesNo, megatron.overlap_grad_reduce);
  reader.word("overlap-param-gather", kYesNo, megatron.overlap_param_gather);
  reader.word("fp32-grads", kYesNo, megatron.fp32_grads);
  reader.word("wgrad-fusion", kYesNo, megatron.wgrad_fusion);
  if (const auto given = reader.text("ddp-bucket-size"); given && *given != "default") {
    megatron.bucket_size =
        reader.integer<std::int64_t>("ddp-bucket-size", *given, 1, std::int64_t{1} << 40);
  }
  reader.count("vocab-divisor", megatron.vocab_divisor, 1, 1 << 20);
  reader.word("cp-kind", kContextParallels, megatron.cp_kind);
  if (reader.text("moe-capacity-factor") != "none") {
    megatron.moe_capacity_factor =
        reader.real("moe-capacity-factor", 1e-3, 1e3, "above 0, or none for dropless");
  }
  megatron.moe_imbalance =
      reader.real("moe-imbalance", 1, 1e6, "1 or more").value_or(megatron.moe_imbalance);
  Apex& apex = parallel.apex;
  apex.bucket_cap_mb =
      reader.real("apex-bucket-mb", 1e-3, 1e6, "above 0").value_or(apex.bucket_cap_mb);
  reader.word("apex-remainders", kYesNo, apex.store_remainders);
  reader.word("apex-contiguous-grads", kYesNo, apex.contiguous_grads);
}

void read_zero(PlanReader& reader, Zero& zero) {
  for (const auto& [option, member, help] : kZeroNumbers) {
    reader.count(option, zero.*member, 0, std::numeric_limits<std::int64_t>::max());
  }
  for (const auto& [option, member, help] : kZeroFlags) {
    reader.word(option, kYesNo, zero.*member);
  }
  if (reader.text("overlap-comm").value_or("default") != "default") {
    bool overlaps = false;
    reader.word("overlap-comm", kYesNo, overlaps);
    zero.overlap_comm = overlaps;
  }
}

void read_parallelism(PlanReader& reader, Parallelism& parallel) {
  reader.count("dp", parallel.dp, 1, kMostRanks);
  reader.word("dp-kind", kDataParallels, parallel.dp_kind);
  reader.count("tp", parallel.tp, 1, kMostRanks);
  reader.word("tp-kind", kTensorParallels, parallel.tp_kind);
  reader.word("sp", kYesNo, parallel.sequence_parallel);
  reader.word("loss-parallel", kYesNo, parallel.loss_parallel);
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
  reader.count("gemini-min-chunk", parallel.gemini.search.smallest, 1, kMostElements);
  reader.count("gemini-search-range", parallel.gemini.search.range, 0, kMostElements);
  reader.count("gemini-search-step", parallel.gemini.search.step, 1, kMostElements);
  reader.word("gemini-gather-lone", kYesNo, parallel.gemini.keep_lone_chunks_gathered);
  reader.word("gemini-empty-cache", kYesNo, parallel.gemini.empties_cache);
  reader.word("bucket-view", kYesNo, parallel.ddp.bucket_view);
  reader.word("static-graph", kYesNo, parallel.ddp.static_graph);
  reader.word("param-dtype", kMixedDTypes, parallel.fsdp.param_dtype);
  reader.word("reduce-dtype", kMixedDTypes, parallel.fsdp.reduce_dtype);
  reader.word("reshard", kReshards, parallel.fsdp.reshard);
  reader.count("dp-replicate", parallel.fsdp.replicas, 1, kMostRanks);
  read_megatron(reader, parallel);
  reader.word("strategy", kShardingStrategies, parallel.fsdp.strategy);
  reader.word("use-orig-params", kYesNo, parallel.fsdp.use_orig_params);
  reader.word("limit-all-gathers", kYesNo, parallel.fsdp.limit_all_gathers);
  reader.word("forward-prefetch", kYesNo, parallel.fsdp.forward_prefetch);
  read_zero(reader, parallel.zero);
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
      "model-code", text("C"), "whose Python code runs: hf (default), torchtitan or megatron")(
      "framework", text("F"),
      "defaults of a training framework, each overridable: torch (default), megatron "
      "(Megatron-LM: bf16, flash attention, clipping at 1, its own DDP) or nemo (the same with "
      "Apex's DistributedFusedAdam)")("batch", text("N"), "sequences per micro-batch; default 1")(
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
      "the model is made on the device (default), on cpu or on meta (default with fsdp2, as in "
      "torchtitan), or pretrained-half: in fp32, then converted")(
      "experts", text("E"), "how a mixture routes: eager (default), even or batched_mm")(
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
  parser.add()("dp", text("N"), "data-parallel ranks; default 1")(
      "dp-kind", text("K"),
      (choices(kDataParallels) +
       "; default ddp. zero kinds are DeepSpeed's engine, or the framework's own")
          .c_str())("tp", text("N"), "tensor-parallel ranks; default 1")(
      "tp-kind", text("K"), (choices(kTensorParallels) + "; default megatron").c_str())(
      "sp", po::value<std::string>()->implicit_value("true")->value_name("BOOL"),
      "sequence parallelism along the tensor-parallel ranks: norms work on a part each; default "
      "false")(
      "loss-parallel", flag(),
      "tp-kind dtensor: logits stay split over the vocabulary (torch.distributed.tensor.parallel."
      "loss_parallel); default false")("pp", text("N"), "pipeline stages; default 1")(
      "pp-schedule", text("S"), (choices(kSchedules) + "; default 1f1b").c_str())(
      "pp-chunks", text("N"), "model chunks per rank of an interleaved schedule; default 2")(
      "cp", text("N"), "context-parallel ranks: parts of each sequence; default 1")(
      "cp-kind", text("K"),
      (choices(kContextParallels) +
       "; default ring (Megatron's cp_comm_type p2p; ulysses is its a2a)")
          .c_str())("ep", text("N"), "ranks that share the experts, of dp * cp; default 1")(
      "moe-capacity-factor", text("X"),
      "every expert takes X times its even share of tokens, padded "
      "(--moe-expert-capacity-factor with --moe-pad-expert-input-to-capacity); default none: "
      "dropless")(
      "moe-imbalance", text("X"),
      "dropless: the busiest expert-parallel rank receives X times the mean; default 1")(
      "offload", text("W"), (choices(kOffloads) + "; default none").c_str())(
      "bucket-cap-mb", text("MIB"),
      "size of DDP's gradient buckets; default 25, and 1 for the first")(
      "gemini-min-chunk", text("N"),
      "smallest sharded chunk of Gemini in elements; default 33554432 (Colossal-AI: "
      "min_chunk_size_mb 32)")(
      "gemini-search-range", text("N"),
      "how far above the smallest size Gemini searches, in elements; default 33554432 "
      "(search_range_mb 32)")("gemini-search-step", text("N"),
                              "step of that search; default 1024 (hidden_dim not given)")(
      "gemini-gather-lone", flag(),
      "chunks that one rank has alone stay gathered; default true (LLMem's change of "
      "search_utils.py)")("gemini-empty-cache", flag(),
                          "the cache is emptied after wrapping and the first backward; default "
                          "true (LLMem's scripts)")(
      "bucket-view", flag(), "gradients are views into DDP's buckets (gradient_as_bucket_view)")(
      "static-graph", flag(), "DDP is told that the graph never changes")(
      "param-dtype", text("T"),
      (choices(kMixedDTypes) +
       "; FSDP's mixed precision: type of gathered parameters and of what is computed with them; "
       "default none, as they are (MixedPrecisionPolicy)")
          .c_str())("reduce-dtype", text("T"),
                    (choices(kMixedDTypes) +
                     "; type of the gradients that FSDP reduces; default none, as they are")
                        .c_str())(
      "reshard", text("W"),
      (choices(kReshards) +
       "; which blocks FSDP2 frees after their forward (reshard_after_forward); default always")
          .c_str())("dp-replicate", text("N"),
                    "HSDP: the dp ranks hold so many copies, each sharded over dp / N; default 1")(
      "overlap-grad-reduce", flag(),
      "Megatron reduces gradient buckets during the backward; default false (arguments.py)")(
      "overlap-param-gather", flag(),
      "Megatron gathers parameters during the forward; default false (arguments.py)")(
      "fp32-grads", flag(),
      "Megatron's gradient buffer is fp32; default true, as --bf16 sets it (arguments.py)")(
      "wgrad-fusion", flag(),
      "Megatron adds weight gradients to that buffer in the matmul; default true")(
      "ddp-bucket-size", text("N"),
      "elements of Megatron's gradient buckets; default max(40e6, 1e6 dp) when they overlap")(
      "vocab-divisor", text("N"),
      "Megatron pads the vocabulary to a multiple of this times tp; default 128")(
      "apex-bucket-mb", text("MIB"),
      "size of the buckets of Apex's DistributedFusedAdam; default 100 (bucket_cap_mb)")(
      "apex-remainders", flag(),
      "Apex keeps 16 bits beside bf16 parameters instead of fp32 copies; default true (NeMo)")(
      "apex-contiguous-grads", flag(),
      "Apex's gradient buckets are one buffer; default false, in NeMo true")(
      "strategy", text("S"),
      (choices(kShardingStrategies) +
       "; FSDP1's ShardingStrategy; default full_shard (fully_sharded_data_parallel.py)")
          .c_str())("use-orig-params", flag(),
                    "FSDP1: the optimizer sees the model's parameters, not the flat ones; default "
                    "true (the class's own default is false)")(
      "limit-all-gathers", flag(),
      "FSDP1: the host waits, so that at most two all-gathers are under way; default true "
      "(fully_sharded_data_parallel.py)")("forward-prefetch", flag(),
                                          "FSDP1: gather the next unit's parameters before a "
                                          "unit's forward; default false "
                                          "(fully_sharded_data_parallel.py)")(
      "no-sync", flag(), "gradients are reduced after the last micro-batch of a step only")(
      "backend", text("B"), "what carries collectives: nccl (default) or fake, which does nothing")(
      "event-lag", text("N"),
      "kernel launches by which events of other streams complete late; default 0")(
      "event-queries", text("N"), "times an event is found incomplete; default 0")(
      "overlap-comm", flag(),
      "DeepSpeed reduces (and zero3 gathers) on streams of its own; default true of zero3 only");
  for (const auto& [option, member, help] : kZeroNumbers) {
    parser.add()(option, text("N"), help);
  }
  for (const auto& [option, member, help] : kZeroFlags) {
    parser.add()(option, flag(), help);
  }
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
  read_parallelism(reader, run.plan.parallel);
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
