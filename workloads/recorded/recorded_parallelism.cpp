#include "workloads/recorded/recorded_parallelism.hpp"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "workloads/recorded/recorded_words.hpp"
#include "workloads/recorded/recorded_zero.hpp"

namespace highwater::recorded {
namespace {

constexpr std::array<std::string_view, 13> kDdpFields{
    "kind",        "world",      "bucket_view",   "bucket_cap_mb",  "static_graph",
    "backend",     "comm_hook",  "powersgd_rank", "powersgd_start", "powersgd_min_rate",
    "find_unused", "warm_start", "error_feedback"};

constexpr std::array<std::pair<std::string_view, DdpCommHook>, 4> kCommHooks{{
    {"allreduce", DdpCommHook::allreduce},
    {"fp16-compress", DdpCommHook::fp16_compress},
    {"bf16-compress", DdpCommHook::bf16_compress},
    {"powersgd", DdpCommHook::powersgd},
}};

void read_comm_hook(const Field& dist, Ddp& ddp) {
  if (const auto hook = dist.find("comm_hook"); hook && !hook->is_null()) {
    ddp.comm_hook = word(*hook, kCommHooks);
  }
  if (const auto rank = dist.find("powersgd_rank")) {
    ddp.power_sgd.rank = rank->small_count();
  }
  if (const auto start = dist.find("powersgd_start")) {
    ddp.power_sgd.start_iter = start->small_count();
  }
  if (const auto rate = dist.find("powersgd_min_rate")) {
    ddp.power_sgd.min_compression_rate = rate->real();
  }
  if (const auto feedback = dist.find("error_feedback")) {
    ddp.power_sgd.error_feedback = feedback->boolean();
  }
  if (const auto warm = dist.find("warm_start")) {
    ddp.power_sgd.warm_start = warm->boolean();
  }
}

constexpr std::array<std::pair<std::string_view, CommBackend>, 2> kCommBackends{{
    {"nccl", CommBackend::nccl},
    {"fake", CommBackend::fake},
}};

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
  parallel.ddp.find_unused = flag(dist, "find_unused");
  read_comm_hook(dist, parallel.ddp);
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

// A boolean, or "but-last". PyTorch also accepts a number: the ranks among which parameters stay
// partly gathered.
Reshard read_reshard(const Field& dist) {
  const auto field = dist.find("reshard");
  if (field && field->value().is_number()) {
    throw Unsupported{
        "fully_shard with reshard_after_forward set to a number is not supported yet"};
  }
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

/// The recorder reduces in fp32 if it mixes types, unless the case overrides that.
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

constexpr std::array<std::string_view, 4> kGeminiFields{"kind", "world", "dp", "tp"};

/// Colossal-AI's Gemini around a model that was loaded in fp32 and halved.
void read_gemini(const Field& dist, Parallelism& parallel) {
  require_known(dist, kGeminiFields);
  parallel.dp = dist.at("dp").small_count();
  parallel.tp = dist.at("tp").small_count();
  parallel.dp_kind = DataParallel::zero3;
  parallel.tp_kind = TensorParallel::colossalai;
}

constexpr std::array<std::pair<std::string_view, Offload>, 3> kOffloads{{
    {"none", Offload::none},
    {"params", Offload::params},
    {"activations", Offload::activations},
}};

constexpr std::array<std::string_view, 9> kFsdp2TensorParallelFields{
    "kind", "dp", "tp", "mp", "reduce", "reshard", "backend", "sequence_parallel", "loss_parallel"};

/// fully_shard applied to modules that parallelize_module has already split.
void read_fsdp2_tensor_parallel(const Field& dist, Parallelism& parallel) {
  require_known(dist, kFsdp2TensorParallelFields);
  parallel.dp_kind = DataParallel::fsdp2;
  parallel.tp_kind = TensorParallel::dtensor;
  parallel.dp = dist.at("dp").small_count();
  parallel.tp = dist.at("tp").small_count();
  if (parallel.dp < 2 || parallel.tp < 2) {
    throw Unsupported{
        "a two-dimensional mesh with a single rank along one dimension is not "
        "supported"};
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

constexpr std::array<std::string_view, 15> kPipelineFields{"kind",         "pp",
                                                           "rank",         "schedule",
                                                           "chunks",       "data",
                                                           "dp",           "mp",
                                                           "reduce",       "reshard",
                                                           "bucket_view",  "bucket_cap_mb",
                                                           "tp",           "sequence_parallel",
                                                           "loss_parallel"};

constexpr std::array<std::pair<std::string_view, DataParallel>, 2> kStageKinds{{
    {"ddp", DataParallel::ddp},
    {"fsdp2", DataParallel::fsdp2},
}};

/// fully_shard keeps what it gathered, and DDP has buckets of 25 MiB, unless the case overrides
/// that.
void read_data_parallel_stages(const Field& dist, Parallelism& parallel) {
  const auto data = dist.find("data");
  if (!data) {
    return;
  }
  parallel.dp_kind = word(*data, kStageKinds);
  parallel.dp = dist.at("dp").small_count();
  if (is_fsdp2(parallel)) {
    parallel.fsdp.param_dtype = read_mixed(dist, "mp");
    parallel.fsdp.reduce_dtype = read_mixed(dist, "reduce");
    parallel.fsdp.reshard = dist.find("reshard") ? read_reshard(dist) : Reshard::never;
  } else {
    const auto cap = dist.find("bucket_cap_mb");
    parallel.ddp.bucket_cap_mb = cap ? cap->real() : 25.0;
    parallel.ddp.bucket_view = flag(dist, "bucket_view");
  }
}

constexpr std::array<std::pair<std::string_view, PipelineSchedule>, 4> kPipelineSchedules{{
    {"naive", PipelineSchedule::naive},
    {"gpipe", PipelineSchedule::gpipe},
    {"1f1b", PipelineSchedule::one_f_one_b},
    {"interleaved", PipelineSchedule::interleaved},
}};

/// tools/python/frameworks/record_pipeline.py
void read_pipeline(const Field& dist, Parallelism& parallel) {
  require_known(dist, kPipelineFields);
  parallel.pp = dist.at("pp").small_count();
  parallel.rank = dist.at("rank").small_count();
  parallel.schedule = word(dist.at("schedule"), kPipelineSchedules);
  if (const auto chunks = dist.find("chunks")) {
    parallel.chunks = chunks->small_count();
  }
  read_data_parallel_stages(dist, parallel);
  if (const auto tp = dist.find("tp")) {
    parallel.tp = tp->small_count();
    parallel.tp_kind = TensorParallel::dtensor;
    parallel.sequence_parallel = flag(dist, "sequence_parallel");
    parallel.loss_parallel = flag(dist, "loss_parallel");
  }
}

}  // namespace

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
  } else if (kind == "pp") {
    read_pipeline(dist, parallel);
  } else if (kind == "gemini") {
    read_gemini(dist, parallel);
  } else if (kind != "none") {
    throw Unsupported{fmt::format("distributed plans are not supported yet (dist.kind {})", kind)};
  }
  if (const auto offload = fields.find("offload")) {
    parallel.offload = word(*offload, kOffloads);
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

}  // namespace highwater::recorded
