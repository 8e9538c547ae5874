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

constexpr std::array<std::string_view, 4> kGeminiFields{"kind", "world", "dp", "tp"};

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

constexpr std::array<std::string_view, 5> kTensorParallelFields{
    "kind", "world", "sequence_parallel", "loss_parallel", "backend"};

/// parallelize_module of DTensors.
void read_tensor_parallel(const Field& dist, Parallelism& parallel) {
  require_known(dist, kTensorParallelFields);
  parallel.tp = dist.at("world").small_count();
  if (parallel.tp < 2) {
    throw Unsupported{"tensor parallelism over one rank is not supported"};
  }
  parallel.tp_kind = TensorParallel::dtensor;
  parallel.sequence_parallel = flag(dist, "sequence_parallel");
  parallel.loss_parallel = flag(dist, "loss_parallel");
  if (const auto backend = dist.find("backend"); backend && !backend->is_null()) {
    parallel.backend = word(*backend, kCommBackends);
  }
}

constexpr std::array<std::string_view, 8> kFsdp2Fields{"kind",    "world",   "mp",        "reduce",
                                                       "reshard", "backend", "replicate", "rank"};

constexpr std::array<std::pair<std::string_view, DType>, 3> kMixedDTypes{{
    {"bf16", DType::bf16},
    {"fp16", DType::fp16},
    {"fp32", DType::fp32},
}};

std::optional<DType> read_mixed(const Field& dist, std::string_view key) {
  const auto field = dist.find(key);
  if (!field || field->is_null()) {
    return std::nullopt;
  }
  return word(*field, kMixedDTypes);
}

// A truth value, or "but-last".
Reshard read_reshard(const Field& dist) {
  const auto field = dist.find("reshard");
  if (field && field->value().is_string()) {
    return Reshard::but_last;
  }
  return !field || field->boolean() ? Reshard::always : Reshard::never;
}

void read_fsdp2(const Field& dist, Parallelism& parallel) {
  require_known(dist, kFsdp2Fields);
  parallel.dp_kind = DataParallel::fsdp2;
  parallel.dp = dist.at("world").small_count();
  if (parallel.dp < 2) {
    throw Unsupported{"data parallelism over one rank is not supported"};
  }
  parallel.fsdp.param_dtype = read_mixed(dist, "mp");
  parallel.fsdp.reduce_dtype = read_mixed(dist, "reduce");
  parallel.fsdp.reshard = read_reshard(dist);
  if (const auto replicas = dist.find("replicate")) {
    parallel.fsdp.replicas = replicas->small_count();
  }
  if (const auto rank = dist.find("rank")) {
    parallel.rank = rank->small_count();
  }
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
    parallel.fsdp.param_dtype = word(*type, kMixedDTypes);
    const auto reduce = given("reduce");
    parallel.fsdp.reduce_dtype = reduce ? word(*reduce, kMixedDTypes) : DType::fp32;
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

constexpr std::array<std::string_view, 6> kDeepspeedFields{"kind", "world",  "stage",
                                                           "zero", "engine", "zero_init"};

/// Members of "zero_optimization" that are numbers of elements.
constexpr std::array<std::pair<std::string_view, std::int64_t Zero::*>, 7> kZeroNumbers{{
    {"reduce_bucket_size", &Zero::reduce_bucket_size},
    {"sub_group_size", &Zero::sub_group_size},
    {"stage3_prefetch_bucket_size", &Zero::prefetch_bucket_size},
    {"stage3_param_persistence_threshold", &Zero::param_persistence_threshold},
    {"stage3_model_persistence_threshold", &Zero::model_persistence_threshold},
    {"stage3_max_live_parameters", &Zero::max_live_parameters},
    {"stage3_max_reuse_distance", &Zero::max_reuse_distance},
}};

constexpr std::array<std::pair<std::string_view, bool Zero::*>, 3> kZeroFlags{{
    {"contiguous_gradients", &Zero::contiguous_gradients},
    {"reduce_scatter", &Zero::reduce_scatter},
    {"round_robin_gradients", &Zero::round_robin_gradients},
}};

void read_offload(const Field& zero, Parallelism& parallel) {
  const auto optimizer = zero.find("offload_optimizer");
  const auto params = zero.find("offload_param");
  if (optimizer || params) {
    parallel.offload = !params ? Offload::optimizer : !optimizer ? Offload::params : Offload::both;
    parallel.zero.pin_memory = flag(optimizer ? *optimizer : *params, "pin_memory");
  }
}

/// Members that say nothing about memory here (allgather_bucket_size: NCCL gathers in one piece)
/// are passed over.
void read_zero(const Field& zero, Parallelism& parallel) {
  for (const auto& [name, member] : kZeroNumbers) {
    if (const auto field = zero.find(name)) {
      parallel.zero.*member = field->integer();
    }
  }
  for (const auto& [name, member] : kZeroFlags) {
    if (const auto field = zero.find(name)) {
      parallel.zero.*member = field->boolean();
    }
  }
  if (const auto overlap = zero.find("overlap_comm")) {
    parallel.zero.overlap_comm = overlap->boolean();
  }
  read_offload(zero, parallel);
}

void read_deepspeed(const Field& dist, Parallelism& parallel) {
  require_known(dist, kDeepspeedFields);
  parallel.dp = dist.at("world").small_count();
  const int stage = dist.at("stage").small_count();
  parallel.dp_kind = stage == 1   ? DataParallel::zero1
                     : stage == 2 ? DataParallel::zero2
                                  : DataParallel::zero3;
  parallel.zero.init = flag(dist, "zero_init");
  if (const auto zero = dist.find("zero")) {
    read_zero(*zero, parallel);
  }
}

/// Colossal-AI's Gemini around a model that was loaded in fp32 and halved.
void read_gemini(const Field& dist, Parallelism& parallel) {
  require_known(dist, kGeminiFields);
  parallel.dp = dist.at("dp").small_count();
  parallel.tp = dist.at("tp").small_count();
  parallel.dp_kind = DataParallel::zero3;
  parallel.tp_kind = TensorParallel::colossalai;
}

constexpr std::array<std::string_view, 9> kFsdp2TensorParallelFields{
    "kind", "dp", "tp", "mp", "reduce", "reshard", "backend", "sequence_parallel", "loss_parallel"};

/// fully_shard over modules that parallelize_module has cut.
void read_fsdp2_tensor_parallel(const Field& dist, Parallelism& parallel) {
  require_known(dist, kFsdp2TensorParallelFields);
  parallel.dp_kind = DataParallel::fsdp2;
  parallel.tp_kind = TensorParallel::dtensor;
  parallel.dp = dist.at("dp").small_count();
  parallel.tp = dist.at("tp").small_count();
  if (parallel.dp < 2 || parallel.tp < 2) {
    throw Unsupported{"a mesh of two dimensions with one rank along one is not supported"};
  }
  parallel.sequence_parallel = flag(dist, "sequence_parallel");
  parallel.loss_parallel = flag(dist, "loss_parallel");
  parallel.fsdp.param_dtype = read_mixed(dist, "mp");
  parallel.fsdp.reduce_dtype = read_mixed(dist, "reduce");
  parallel.fsdp.reshard = read_reshard(dist);
  if (const auto backend = dist.find("backend"); backend && !backend->is_null()) {
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
  } else if (kind == "tp") {
    read_tensor_parallel(dist, parallel);
  } else if (kind == "fsdp2+tp") {
    read_fsdp2_tensor_parallel(dist, parallel);
    parallel.no_sync = fields.at("no_sync").boolean();
  } else if (kind == "fsdp2") {
    read_fsdp2(dist, parallel);
    parallel.no_sync = fields.at("no_sync").boolean();
  } else if (kind == "fsdp1") {
    read_fsdp1(dist, parallel);
    parallel.no_sync = fields.at("no_sync").boolean();
  } else if (kind == "deepspeed") {
    read_deepspeed(dist, parallel);
  } else if (kind == "gemini") {
    read_gemini(dist, parallel);
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

bool is_megatron(const Field& root) {
  return root.at("case").at("dist").at("kind").text() == "megatron";
}

/// The model of a recording of Megatron-Core: sizes and one of two styles.
ModelSpec megatron_model(const Field& fields) {
  const auto size = [&](const char* key) { return fields.at(key).integer(); };
  const auto or_else = [&](const char* key, std::int64_t absent) {
    const Field field = fields.at(key);
    return field.is_null() ? absent : field.integer();
  };
  const std::int64_t ffn = or_else("ffn", 4 * size("hidden"));
  const double dropout = fields.at("dropout").real();
  if (fields.at("style").text() == "gpt") {
    return {"megatron-gpt", "a recording",
            Gpt2Config{.vocab_size = size("vocab"),
                       .n_positions = size("seq"),
                       .n_embd = size("hidden"),
                       .n_layer = size("layers"),
                       .n_head = size("heads"),
                       .n_inner = ffn,
                       .resid_pdrop = dropout,
                       .embd_pdrop = dropout,
                       .attn_pdrop = dropout,
                       .tie_word_embeddings = fields.at("tied").boolean()}};
  }
  if (const auto experts = fields.find("experts"); experts && experts->integer() > 0) {
    return {"megatron-mixtral", "a recording",
            MixtralConfig{.vocab_size = size("vocab"),
                          .hidden_size = size("hidden"),
                          .intermediate_size = ffn,
                          .num_hidden_layers = size("layers"),
                          .num_attention_heads = size("heads"),
                          .num_key_value_heads = or_else("kv_heads", size("heads")),
                          .tie_word_embeddings = fields.at("tied").boolean(),
                          .attention_dropout = dropout,
                          .num_experts_per_tok = size("topk"),
                          .num_local_experts = experts->integer()}};
  }
  return {"megatron-llama", "a recording",
          LlamaConfig{.vocab_size = size("vocab"),
                      .hidden_size = size("hidden"),
                      .intermediate_size = ffn,
                      .num_hidden_layers = size("layers"),
                      .num_attention_heads = size("heads"),
                      .num_key_value_heads = or_else("kv_heads", size("heads")),
                      .tie_word_embeddings = fields.at("tied").boolean(),
                      .attention_dropout = dropout}};
}

Parallelism megatron_parallelism(const Field& fields) {
  Parallelism parallel;
  parallel.dp = fields.at("dp").small_count();
  parallel.tp = fields.at("tp").small_count();
  parallel.sequence_parallel = fields.at("sp").boolean();
  parallel.dp_kind = fields.at("dist_opt").boolean() ? DataParallel::zero1 : DataParallel::ddp;
  parallel.megatron.overlap_grad_reduce = fields.at("overlap").boolean();
  parallel.megatron.overlap_param_gather = fields.at("param_overlap").boolean();
  parallel.megatron.fp32_grads = fields.at("fp32_grads").boolean();
  parallel.megatron.wgrad_fusion = fields.at("wgrad_fusion").boolean();
  if (const Field size = fields.at("bucket_size"); !size.is_null()) {
    parallel.megatron.bucket_size = size.integer();
  }
  if (fields.find("experts")) {
    parallel.ep = fields.at("ep").small_count();
    if (const Field capacity = fields.at("capacity"); !capacity.is_null()) {
      parallel.megatron.moe_capacity_factor = capacity.real();
    }
  }
  return parallel;
}

constexpr std::array<std::pair<std::string_view, CheckpointKind>, 3> kRecomputes{{
    {"none", CheckpointKind::none},
    {"selective", CheckpointKind::selective_attention},
    {"full", CheckpointKind::full},
}};

constexpr std::array<std::pair<std::string_view, Attention>, 2> kCores{{
    {"unfused", Attention::eager},
    {"flash", Attention::sdpa_flash},
}};

/// A recording of tools/rig/megatron_record.py, which has a vocabulary of its own.
TrainingPlan read_megatron_plan(const Field& root, const RecordedCase& recorded) {
  const Field fields = root.at("case");
  TrainingPlan plan;
  plan.model = megatron_model(fields);
  plan.model_code = ModelCode::megatron;
  plan.framework = Framework::megatron;
  plan.batch = fields.at("batch").integer();
  plan.seq = {fields.at("seq").integer()};
  plan.steps = fields.at("steps").small_count();
  plan.grad_accum = fields.at("grad_accum").small_count();
  plan.precision = word(fields.at("precision"), kPrecisions);
  plan.attention = word(fields.at("attention"), kCores);
  plan.checkpoint.kind = word(fields.at("recompute"), kRecomputes);
  plan.optimizer.kind = OptimizerKind::adamw;
  if (const double clip = fields.at("grad_clip").real(); clip > 0) {
    plan.grad_clip = clip;
  }
  plan.zero_grad_at = ZeroGradAt::start;
  plan.dropout = fields.at("dropout").real();
  plan.parallel = megatron_parallelism(fields);
  plan.gpu = default_gpu();
  plan.gpu.total_memory = recorded.gpu.total_memory;
  plan.versions.torch = recorded.torch;
  return plan;
}

TrainingPlan read_plan(const Field& root, const RecordedCase& recorded, const std::string& source) {
  const Field fields = root.at("case");
  if (is_megatron(root)) {
    return read_megatron_plan(root, recorded);
  }
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
  if (parallel.tp > 1 && !parallel.sequence_parallel) {
    plan.optimizer.param_groups = 1;  // the recorder has groups of its own then, with one setting
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

void read_limits(const Field& fields, RecordedCase& recorded) {
  if (const auto conf = fields.find("alloc_conf")) {
    recorded.alloc_conf = conf->text();
  }
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
