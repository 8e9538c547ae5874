#include "workloads/recorded_case.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/json_document.hpp"
#include "workloads/models/hf_config.hpp"
#include "workloads/recorded_field.hpp"

namespace highwater {
namespace {

namespace json = boost::json;
using Field = RecordedField;

/// Why a case has no plan; caught in this file.
struct Unsupported {
  std::string reason;
};

/// The value that a word of the recorder's vocabulary stands for.
template <class T, std::size_t N>
T word(const Field& field, const std::array<std::pair<std::string_view, T>, N>& words) {
  const std::string text = field.text();
  const auto found = std::ranges::find(words, text, &std::pair<std::string_view, T>::first);
  if (found == words.end()) {
    throw Unsupported{fmt::format("{} '{}' is not supported", field.path(), text)};
  }
  return found->second;
}

constexpr std::array<std::pair<std::string_view, Precision>, 5> kPrecisions{{
    {"fp32", Precision::fp32},
    {"bf16", Precision::bf16},
    {"fp16", Precision::fp16},
    {"amp-bf16", Precision::amp_bf16},
    {"amp-fp16", Precision::amp_fp16},
}};

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

constexpr std::array<std::pair<std::string_view, OptimizerImpl>, 4> kImpls{{
    {"default", OptimizerImpl::standard},
    {"foreach", OptimizerImpl::foreach},
    {"fused", OptimizerImpl::fused},
    {"loop", OptimizerImpl::loop},
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

constexpr std::array<std::pair<std::string_view, CaseStatus>, 3> kStatuses{{
    {"ok", CaseStatus::ok},
    {"oom", CaseStatus::out_of_memory},
    {"error", CaseStatus::error},
}};

/// Every field that a case may have; those not read below do not reach the allocator of one GPU.
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
    "teardown"};

constexpr std::array<std::string_view, 4> kRigFields{"profile", "capacity", "event_lag",
                                                     "event_queries"};

void require_known(const Field& field, std::span<const std::string_view> known) {
  for (const auto& [key, value] : field.object()) {
    if (std::ranges::find(known, std::string_view(key)) == known.end()) {
      throw Unsupported{
          fmt::format("{}.{} is not a field that is known", field.path(), std::string_view(key))};
    }
  }
}

/// "2.6.0+debian" -> "2.6".
std::string release_of(const std::string& version) {
  const std::size_t dot = version.find('.');
  const std::size_t second = dot == std::string::npos ? dot : version.find('.', dot + 1);
  return version.substr(0, second);
}

RecordedUsage usage(const Field& stats, std::string_view which) {
  const auto figure = [&](std::string_view group) {
    const std::optional<Field> field = stats.find(fmt::format("{}_bytes.all.{}", group, which));
    return field ? Bytes{field->count()} : Bytes{};  // statistics before the first allocation
  };
  return {figure("requested"), figure("allocated"), figure("active"), figure("reserved")};
}

RecordedMarker read_marker(const Field& field) {
  RecordedMarker marker;
  marker.phase = field.at("phase").text();
  marker.step = field.at("step").optional_count();
  marker.micro = field.at("micro").optional_count();
  if (const auto index = field.find("trace_index")) {
    marker.trace_index = index->optional_count();
  }
  const Field stats = field.at("stats");
  marker.current = usage(stats, "current");
  marker.peak = usage(stats, "peak");
  return marker;
}

RecordedGpu read_gpu(const Field& field) {
  RecordedGpu gpu;
  gpu.name = field.at("name").text();
  gpu.total_memory = Bytes{field.at("total_memory").count()};
  const std::vector<Field> capability = field.at("capability").elements();
  if (capability.size() != 2) {
    field.at("capability").fail("two numbers were expected");
  }
  gpu.major = capability[0].small_count();
  gpu.minor = capability[1].small_count();
  return gpu;
}

/// Completed steps, and the one in which the memory ran out.
void read_steps(RecordedCase& recorded) {
  std::optional<std::uint64_t> begun;
  for (const RecordedMarker& marker : recorded.markers) {
    if (marker.phase == "step_begin") {
      begun = marker.step;
    } else if (marker.phase == "step_end" && marker.step) {
      recorded.steps.push_back({*marker.step, marker.peak});
    }
  }
  if (recorded.status == CaseStatus::out_of_memory) {
    recorded.oom_step = begun;
  }
}

std::vector<std::int64_t> read_lengths(const Field& root) {
  std::vector<std::int64_t> lengths;
  if (const auto field = root.find("sequence_lengths")) {
    for (const Field& length : field->elements()) {
      lengths.push_back(length.integer());
    }
    return lengths;
  }
  const Field seq = root.at("case").at("seq");  // it failed before the first step
  if (seq.value().is_array()) {
    for (const Field& length : seq.elements()) {
      lengths.push_back(length.integer());
    }
  } else if (seq.value().is_int64()) {
    lengths.push_back(seq.integer());
  }
  return lengths;
}

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
    field.fail("no loss: behind chunked- belongs a number");
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
    throw Unsupported{fmt::format("the GPU '{}' ({}.{}) is not known", recorded.name,
                                  recorded.major, recorded.minor)};
  }
  Gpu gpu = *known;
  gpu.total_memory = recorded.total_memory;
  return gpu;
}

/// A device that computes nothing finds no token for any expert: a loop over the experts that were
/// hit then allocates nothing, which no real run does.
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
        "the recording is no truth: its fake device computed no routing, so no expert got a token"};
  }
}

constexpr std::array<std::string_view, 6> kDdpFields{"kind",          "world",        "bucket_view",
                                                     "bucket_cap_mb", "static_graph", "backend"};

constexpr std::array<std::pair<std::string_view, CommBackend>, 2> kCommBackends{{
    {"nccl", CommBackend::nccl},
    {"fake", CommBackend::fake},
}};

bool flag(const Field& fields, std::string_view key) {
  const auto field = fields.find(key);
  return field && field->boolean();
}

/// The recorder passes a bucket size in every case, 25 MiB unless the case has another.
void read_ddp(const Field& dist, Parallelism& parallel) {
  require_known(dist, kDdpFields);
  parallel.dp = dist.at("world").small_count();
  if (parallel.dp < 2) {
    throw Unsupported{"data parallelism over one rank is not supported"};
  }
  const auto cap = dist.find("bucket_cap_mb");
  parallel.ddp.bucket_cap_mb = cap ? cap->real() : 25.0;
  parallel.ddp.bucket_view = flag(dist, "bucket_view");
  parallel.ddp.static_graph = flag(dist, "static_graph");
  if (const auto backend = dist.find("backend"); backend && !backend->is_null()) {
    parallel.backend = word(*backend, kCommBackends);
  }
}

constexpr std::array<std::string_view, 11> kFsdp1Fields{"kind",
                                                        "world",
                                                        "mp",
                                                        "reduce",
                                                        "strategy",
                                                        "use_orig_params",
                                                        "limit_all_gathers",
                                                        "replicate",
                                                        "rank",
                                                        "backend",
                                                        "forward_prefetch"};

constexpr std::array<std::pair<std::string_view, ShardingStrategy>, 4> kShardingStrategies{{
    {"FULL_SHARD", ShardingStrategy::full_shard},
    {"SHARD_GRAD_OP", ShardingStrategy::shard_grad_op},
    {"NO_SHARD", ShardingStrategy::no_shard},
    {"HYBRID_SHARD", ShardingStrategy::hybrid_shard},
}};

constexpr std::array<std::pair<std::string_view, DType>, 3> kMixedTypes{{
    {"fp32", DType::fp32},
    {"bf16", DType::bf16},
    {"fp16", DType::fp16},
}};

/// The recorder reduces in fp32 if it mixes types, unless the case says otherwise.
void read_fsdp1(const Field& dist, Parallelism& parallel) {
  require_known(dist, kFsdp1Fields);
  const auto given = [&](std::string_view key) {
    const auto field = dist.find(key);
    return field && !field->is_null() ? field : std::nullopt;
  };
  const auto flag_or = [&](std::string_view key, bool otherwise) {
    const auto field = given(key);
    return field ? field->boolean() : otherwise;
  };
  parallel.dp = dist.at("world").small_count();
  parallel.dp_kind = DataParallel::fsdp1;
  if (const auto type = given("mp")) {
    parallel.fsdp.param_dtype = word(*type, kMixedTypes);
    const auto reduce = given("reduce");
    parallel.fsdp.reduce_dtype = reduce ? word(*reduce, kMixedTypes) : DType::fp32;
  }
  if (const auto strategy = given("strategy")) {
    parallel.fsdp.strategy = word(*strategy, kShardingStrategies);
  }
  if (const auto replicas = given("replicate")) {
    parallel.fsdp.replicas = replicas->small_count();
  }
  if (const auto rank = given("rank")) {
    parallel.rank = rank->small_count();
  }
  parallel.fsdp.use_orig_params = flag_or("use_orig_params", true);
  parallel.fsdp.limit_all_gathers = flag_or("limit_all_gathers", true);
  parallel.fsdp.forward_prefetch = flag_or("forward_prefetch", false);
  if (const auto backend = given("backend")) {
    parallel.backend = word(*backend, kCommBackends);
  }
}

Parallelism read_parallelism(const Field& fields) {
  Parallelism parallel;
  const Field dist = fields.at("dist");
  const std::string kind = dist.at("kind").text();
  if (kind == "ddp") {
    read_ddp(dist, parallel);
    parallel.no_sync = fields.at("no_sync").boolean();
  } else if (kind == "fsdp1") {
    read_fsdp1(dist, parallel);
    parallel.no_sync = fields.at("no_sync").boolean();
  } else if (kind != "none") {
    throw Unsupported{fmt::format("distributed plans are not supported yet (dist.kind {})", kind)};
  }
  const Field rig = fields.at("rig");
  const auto count = [&](std::string_view key) {
    const auto field = rig.find(key);
    return field ? field->small_count() : 0;
  };
  parallel.event_lag = count("event_lag");
  parallel.event_queries = count("event_queries");
  return parallel;
}

/// Of a Python traceback: the error itself.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text.substr(text.find_last_of('\n') + 1);  // npos + 1 is 0
}

TrainingPlan read_plan(const Field& root, const RecordedCase& recorded, const std::string& source) {
  const Field fields = root.at("case");
  const Parallelism parallel = read_parallelism(fields);
  require_known(fields, kCaseFields);
  require_known(fields.at("rig"), kRigFields);
  require_truth(root);
  if (recorded.sequence_lengths.empty()) {
    throw Unsupported{"the file does not tell the sequence lengths"};
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
  if (!plan.training) {  // the recorder makes no optimizer then, and clips nothing
    plan.optimizer.kind = OptimizerKind::none;
    plan.grad_clip.reset();
  }
  plan.parallel = parallel;
  plan.empty_cache_every_step = fields.at("empty_cache_every_step").boolean();
  plan.gpu = read_plan_gpu(fields.at("rig"), recorded.gpu);
  plan.versions = {recorded.torch,
                   recorded.transformers.empty() ? Versions{}.transformers : recorded.transformers};
  return plan;
}

void read_limits(const Field& fields, RecordedCase& recorded) {
  recorded.alloc_conf = fields.at("alloc_conf").text();
  const Field limit = fields.at("memory_limit_mib");
  if (!limit.is_null() && limit.real() > 0) {
    recorded.memory_fraction = std::min(
        1.0, limit.real() * 1048576.0 / static_cast<double>(recorded.gpu.total_memory.count()));
  }
}

/// What the phase is called whose end a marker stands at.
std::string phase_name(const RecordedMarker& marker) {
  if (!marker.step) {
    return "init";
  }
  return marker.phase == "optimizer_step" ? "optimizer" : marker.phase;
}

/// The phase in which the memory ran out: the one that follows the last marker before.
std::string phase_after(const RecordedMarker& last, const RecordedCase& recorded) {
  const std::string phase = phase_name(last);
  if (phase == "init") {
    return "init";
  }
  if (phase == "step_begin") {
    return recorded.plan && recorded.plan->zero_grad_at == ZeroGradAt::start ? "zero_grad" : "data";
  }
  if (phase == "data") {
    return "forward";
  }
  if (phase == "forward") {
    return recorded.plan && !recorded.plan->training ? "data" : "backward";
  }
  if (phase == "backward") {
    const bool is_last = !recorded.plan || !last.micro ||
                         *last.micro + 1 >= static_cast<std::uint64_t>(recorded.plan->grad_accum);
    const bool clips = recorded.plan && recorded.plan->grad_clip;
    return !is_last ? "data" : clips ? "clip" : "optimizer";
  }
  return phase == "clip" ? "optimizer" : phase == "optimizer" ? "zero_grad" : "data";
}

}  // namespace

RecordedCase read_recorded_case(std::string_view text, const std::string& source) {
  const json::value document =
      parse_json_document(text, source, "the file is damaged or no recorded case; record it again");
  const Field root(document, "", source);
  RecordedCase recorded;
  const Field fields = root.at("case");
  recorded.id = fields.at("id").text();
  try {
    recorded.status = word(root.at("status"), kStatuses);
  } catch (const Unsupported& unsupported) {
    root.at("status").fail(unsupported.reason);
  }
  if (const auto error = root.find("error")) {
    recorded.error = error->text();
  }
  recorded.torch = release_of(root.at("torch").text());
  if (const auto transformers = root.find("transformers")) {
    recorded.transformers = release_of(transformers->text());
  }
  recorded.gpu = read_gpu(root.at("gpu"));
  read_limits(fields, recorded);
  recorded.sequence_lengths = read_lengths(root);
  for (const Field& marker : root.at("markers").elements()) {
    recorded.markers.push_back(read_marker(marker));
  }
  read_steps(recorded);
  try {
    if (recorded.status == CaseStatus::error) {
      throw Unsupported{"the recorded program failed: " + last_line(recorded.error)};
    }
    recorded.plan = read_plan(root, recorded, source);
  } catch (const Unsupported& unsupported) {
    recorded.unsupported_reason = unsupported.reason;
  }
  return recorded;
}

std::vector<RecordedPhase> recorded_phases(const RecordedCase& recorded) {
  std::vector<RecordedPhase> phases{{0, std::nullopt, "init"}};
  const RecordedMarker* before = nullptr;
  std::optional<std::uint64_t> step;
  for (const RecordedMarker& marker : recorded.markers) {
    if (!marker.trace_index && marker.phase != "oom") {
      continue;
    }
    const bool is_oom = marker.phase == "oom" || marker.phase == "error";
    const std::string phase = !is_oom  ? phase_name(marker)
                              : before ? phase_after(*before, recorded)
                                       : "init";
    step = is_oom ? step : marker.step;
    if (before != nullptr && phase != "init") {
      phases.push_back({before->trace_index.value_or(0), step, phase});
    }
    before = &marker;
  }
  return phases;
}

}  // namespace highwater
