#include "workloads/recorded/recorded_plan.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/plan/model/hf_config.hpp"
#include "workloads/recorded/recorded_megatron.hpp"
#include "workloads/recorded/recorded_parallelism.hpp"
#include "workloads/recorded/recorded_words.hpp"

namespace highwater::recorded {
namespace {

constexpr std::array<std::pair<std::string_view, Attention>, 4> kBackends{{
    {"flash", Attention::sdpa_flash},
    {"efficient", Attention::sdpa_efficient},
    {"math", Attention::sdpa_math},
    {"cudnn", Attention::sdpa_cudnn},
}};

constexpr std::array<std::pair<std::string_view, Attention>, 2> kAttentions{{
    {"eager", Attention::eager},
    {"sdpa", Attention::sdpa},
}};

constexpr std::array<std::pair<std::string_view, OptimizerKind>, 8> kOptimizers{{
    {"none", OptimizerKind::none},
    {"sgd", OptimizerKind::sgd},
    {"sgd-momentum", OptimizerKind::sgd_momentum},
    {"adam", OptimizerKind::adam},
    {"adamw", OptimizerKind::adamw},
    {"rmsprop", OptimizerKind::rmsprop},
    {"adagrad", OptimizerKind::adagrad},
    {"adafactor", OptimizerKind::adafactor},
}};

constexpr std::array<std::pair<std::string_view, OptimizerImpl>, 5> kImpls{{
    {"default", OptimizerImpl::standard},
    {"foreach", OptimizerImpl::foreach},
    {"fused", OptimizerImpl::fused},
    {"loop", OptimizerImpl::loop},
    {"deepspeed", OptimizerImpl::fused},  // FusedAdam
}};

constexpr std::array<std::pair<std::string_view, LossKind>, 4> kLosses{{
    {"hf", LossKind::hf},
    {"shift", LossKind::shift},
    {"flat", LossKind::flat},
    {"fused", LossKind::fused},
}};

constexpr std::array<std::pair<std::string_view, ModelInit>, 4> kInits{{
    {"device", ModelInit::device},
    {"cpu", ModelInit::cpu},
    {"meta", ModelInit::meta},
    {"pretrained-half", ModelInit::pretrained_half},
}};

constexpr std::array<std::pair<std::string_view, ZeroGradAt>, 2> kZeroGrads{{
    {"start", ZeroGradAt::start},
    {"end", ZeroGradAt::end},
}};

constexpr std::array<std::pair<std::string_view, DataSource>, 2> kDataSources{{
    {"to", DataSource::to},
    {"device", DataSource::device},
}};

constexpr std::array<std::pair<std::string_view, Experts>, 3> kExperts{{
    {"eager", Experts::eager},
    {"even", Experts::even},
    {"batched_mm", Experts::batched_mm},
}};

constexpr std::array<std::pair<std::string_view, bool>, 2> kModes{{
    {"train", true},
    {"eval", false},
}};

/// Every field that a case may have; those not read below do not affect the allocator of one GPU.
constexpr std::array<std::string_view, 39> kCaseFields{
    "id",           "model",       "note",           "tags",
    "batch",        "seq",         "precision",      "attention",
    "sdpa_backend", "checkpoint",  "optimizer",      "impl",
    "param_groups", "grad_clip",   "grad_accum",     "no_sync",
    "steps",        "set_to_none", "zero_grad_at",   "loss",
    "keep_logits",  "use_cache",   "attention_mask", "data",
    "dropout",      "init",        "lora",           "mode",
    "dist",         "rig",         "alloc_conf",     "memory_limit_mib",
    "experts",      "overrides",   "stacks",         "empty_cache_every_step",
    "teardown",     "offload",     "probe"};

constexpr std::array<std::string_view, 5> kRigFields{"profile", "capacity", "event_lag",
                                                     "event_queries", "devices"};

/// "none", "nonreentrant", "reentrant", "every2-nonreentrant", ...
Checkpoint read_checkpoint(const Field& field) {
  const std::string text = field.text();
  Checkpoint checkpoint;
  if (text == "none") {
    return checkpoint;
  }
  if (text == "selective-op" || text == "selective-attention") {
    checkpoint.kind =
        text == "selective-op" ? CheckpointKind::selective_op : CheckpointKind::selective_attention;
    return checkpoint;
  }
  std::string_view kind = text;
  checkpoint.kind = CheckpointKind::full;
  if (kind.starts_with("every")) {
    const std::size_t dash = std::min(kind.find('-'), kind.size());
    const std::string_view number = kind.substr(5, dash - 5);
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), checkpoint.n);
    if (error != std::errc{} || end != number.data() + number.size() || dash == kind.size()) {
      throw Unsupported{fmt::format("{} '{}' is not supported", field.path(), text)};
    }
    checkpoint.kind = CheckpointKind::every_n;
    kind.remove_prefix(dash + 1);
  }
  checkpoint.reentrant = kind == "reentrant";
  if (!checkpoint.reentrant && kind != "nonreentrant") {
    throw Unsupported{fmt::format("{} '{}' is not supported", field.path(), text)};
  }
  return checkpoint;
}

/// {"r": 8, "dropout": 0.05, "targets": ["q_proj"]}; cases without adapters lack the field.
Lora read_lora(const Field& plan) {
  Lora lora;
  const auto field = plan.find("lora");
  if (!field || field->is_null()) {
    return lora;
  }
  lora.rank = field->at("r").small_count();
  if (const auto dropout = field->find("dropout")) {
    lora.dropout = dropout->real();
  }
  if (const auto targets = field->find("targets")) {
    for (const Field& target : targets->elements()) {
      lora.targets.push_back(target.text());
    }
  }
  return lora;
}

Attention read_attention(const Field& plan) {
  const Attention attention = word(plan.at("attention"), kAttentions);
  const Field backend = plan.at("sdpa_backend");
  return attention == Attention::sdpa && !backend.is_null() ? word(backend, kBackends) : attention;
}

/// "chunked-8" names its number of chunks.
Loss read_loss(const Field& field) {
  constexpr std::string_view kChunked = "chunked-";
  const std::string text(field.text());
  if (!text.starts_with(kChunked)) {
    return {.kind = word(field, kLosses)};
  }
  int chunks = 0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data() + kChunked.size(), end, chunks) !=
      std::from_chars_result{end, std::errc{}}) {
    field.fail("unknown loss: expected chunked-N");
  }
  return {.kind = LossKind::chunked, .chunks = chunks};
}

Optimizer read_optimizer(const Field& plan) {
  Optimizer optimizer;
  optimizer.kind = word(plan.at("optimizer"), kOptimizers);
  optimizer.impl = word(plan.at("impl"), kImpls);
  optimizer.param_groups = plan.at("param_groups").small_count();
  return optimizer;
}

bool is_plain(const Field& root) {
  return root.at("model").at("family").text() == "plain";
}

ModelSpec model_of(const Field& root, const std::string& source) {
  try {
    ModelSpec model = model_from_json(root.at("model").value(), source);
    model.name = root.at("case").at("model").text();
    return model;
  } catch (const InputError& error) {
    throw Unsupported{error.what()};  // a family that is not covered
  }
}

/// The recorded device as a plan names it: the profile that the rig was given, or the one of the
/// same compute capability, with the recorded amount of memory.
Gpu read_plan_gpu(const Field& rig, const RecordedGpu& recorded) {
  const std::optional<Field> profile = rig.find("profile");
  const Gpu* known = profile ? find_gpu(profile->text()) : nullptr;
  if (known == nullptr && default_gpu().major == recorded.major &&
      default_gpu().minor == recorded.minor) {
    known = &default_gpu();
  }
  for (const Gpu& gpu : known_gpus()) {
    if (known == nullptr && gpu.major == recorded.major && gpu.minor == recorded.minor) {
      known = &gpu;
    }
  }
  if (known == nullptr) {
    throw Unsupported{fmt::format("unknown GPU '{}' (compute capability {}.{})", recorded.name,
                                  recorded.major, recorded.minor)};
  }
  Gpu gpu = *known;
  gpu.total_memory = recorded.total_memory;
  return gpu;
}

/// A device that computes nothing routes no tokens to any expert: a loop over the experts that
/// received some then allocates nothing, unlike any real run.
void require_truth(const Field& root) {
  const Field config = root.at("model").at("config");
  const auto has_experts = [&](std::string_view key) {
    const auto field = config.find(key);
    return field && field->value().is_int64() && field->integer() > 0;
  };
  const bool is_mixture = has_experts("num_local_experts") || has_experts("n_routed_experts") ||
                          has_experts("num_experts");
  const auto fake = root.find("fake_device");
  if (is_mixture && fake && fake->boolean() && root.at("case").at("experts").is_null()) {
    throw Unsupported{
        "this recording is not ground truth: its fake device computed no routing, so no expert "
        "received a token"};
  }
}

/// A probe records single operations to establish facts; no plan corresponds to them.
void require_training(const Field& root) {
  const auto probe = root.at("case").find("probe");
  if (probe && !probe->is_null()) {
    throw Unsupported{fmt::format("a probe ({}), not a training run", probe->at("kind").text())};
  }
}

bool is_megatron(const Field& root) {
  return root.at("case").at("dist").at("kind").text() == "megatron";
}

}  // namespace

TrainingPlan read_plan(const Field& root, const RecordedCase& recorded, const std::string& source) {
  const Field fields = root.at("case");
  require_training(root);
  if (is_megatron(root)) {
    return read_megatron_plan(root, recorded);
  }
  const Parallelism parallel = read_parallelism(fields);
  require_known(fields, kCaseFields);
  require_known(fields.at("rig"), kRigFields);
  require_truth(root);
  if (recorded.sequence_lengths.empty()) {
    throw Unsupported{"the file lacks the sequence lengths"};
  }
  TrainingPlan plan;
  plan.model = model_of(root, source);
  plan.model_code = is_plain(root) ? ModelCode::torchtitan : ModelCode::hf;
  plan.batch = fields.at("batch").integer();
  plan.seq = recorded.sequence_lengths;
  plan.steps = fields.at("steps").small_count();
  plan.grad_accum = fields.at("grad_accum").small_count();
  plan.precision = word(fields.at("precision"), kPrecisions);
  plan.attention = read_attention(fields);
  plan.checkpoint = read_checkpoint(fields.at("checkpoint"));
  plan.optimizer = read_optimizer(fields);
  plan.lora = read_lora(fields);
  if (const Field clip = fields.at("grad_clip"); !clip.is_null() && clip.real() != 0) {
    plan.grad_clip = clip.real();
  }
  plan.set_to_none = fields.at("set_to_none").boolean();
  plan.zero_grad_at = word(fields.at("zero_grad_at"), kZeroGrads);
  plan.loss = read_loss(fields.at("loss"));
  if (is_plain(root) && plan.loss.kind == LossKind::hf) {
    plan.loss.kind = LossKind::flat;  // that decoder takes no labels
  }
  plan.keep_logits = fields.at("keep_logits").boolean();
  plan.use_cache = fields.at("use_cache").boolean();
  plan.attention_mask = fields.at("attention_mask").boolean();
  if (const Field dropout = fields.at("dropout"); !dropout.is_null()) {
    plan.dropout = dropout.real();
  }
  plan.training = word(fields.at("mode"), kModes);
  plan.data = word(fields.at("data"), kDataSources);
  plan.init = word(fields.at("init"), kInits);
  if (const Field experts = fields.at("experts"); !experts.is_null()) {
    plan.experts = word(experts, kExperts);
  }
  if (!plan.training) {  // the recorder then creates no optimizer and clips nothing
    plan.optimizer.kind = OptimizerKind::none;
    plan.grad_clip.reset();
  }
  plan.parallel = parallel;
  if (parallel.tp > 1 && !parallel.sequence_parallel) {
    plan.optimizer.param_groups =
        1;  // the recorder then has its own groups, all with the same settings
  }
  if (fields.at("dist").at("kind").text() == "gemini") {
    plan.framework = Framework::colossalai_gemini;
    plan.init = ModelInit::pretrained_half;
  }
  plan.empty_cache_every_step = fields.at("empty_cache_every_step").boolean();
  plan.gpu = read_plan_gpu(fields.at("rig"), recorded.gpu);
  plan.versions = {recorded.torch,
                   recorded.transformers.empty() ? Versions{}.transformers : recorded.transformers};
  return plan;
}

}  // namespace highwater::recorded
