#include "workloads/recorded/recorded_parallelism.hpp"

#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "workloads/plan/training_plan.hpp"
#include "workloads/recorded/recorded_options.hpp"
#include "workloads/recorded/recorded_zero.hpp"

namespace highwater::recorded {
namespace {

// The recorder has truth values, or "but-last", which it gives for every unit, the model's own
// included. A number, the ranks among which parameters stay gathered in parts, is valid in PyTorch.
std::string reshard_word(const Field& field) {
  if (field.value().is_number()) {
    throw Unsupported{
        "fully_shard with reshard_after_forward set to a number is not supported yet"};
  }
  return field.value().is_string() ? field.text() : field.boolean() ? "all" : "never";
}

// torch.distributed.fsdp.ShardingStrategy's members.
std::string strategy_word(const Field& field) {
  std::string text = field.text();
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

constexpr std::array kDdpFields{FieldOption{"kind"},
                                FieldOption{"world", "dp"},
                                FieldOption{"bucket_view", "bucket-view"},
                                FieldOption{"bucket_cap_mb", "bucket-cap-mb"},
                                FieldOption{"static_graph", "static-graph"},
                                FieldOption{"backend", "backend"},
                                FieldOption{"comm_hook", "ddp-comm-hook"},
                                FieldOption{"powersgd_rank", "powersgd-rank"},
                                FieldOption{"powersgd_start", "powersgd-start-iter"},
                                FieldOption{"powersgd_min_rate", "powersgd-min-rate"},
                                FieldOption{"find_unused", "find-unused-parameters"},
                                FieldOption{"warm_start", "powersgd-warm-start"},
                                FieldOption{"error_feedback", "powersgd-error-feedback"}};

constexpr std::array kTensorParallelFields{
    FieldOption{"kind"}, FieldOption{"world", "tp"}, FieldOption{"sequence_parallel", "sp"},
    FieldOption{"loss_parallel", "loss-parallel"}, FieldOption{"backend", "backend"}};

constexpr std::array kFsdp2Fields{FieldOption{"kind"},
                                  FieldOption{"world", "dp"},
                                  FieldOption{"mp", "param-dtype"},
                                  FieldOption{"reduce", "reduce-dtype"},
                                  FieldOption{"reshard", "reshard", reshard_word},
                                  FieldOption{"backend", "backend"},
                                  FieldOption{"replicate", "dp-replicate"},
                                  FieldOption{"rank"}};

constexpr std::array kFsdp1Fields{FieldOption{"kind"},
                                  FieldOption{"world", "dp"},
                                  FieldOption{"mp", "param-dtype"},
                                  FieldOption{"reduce", "reduce-dtype"},
                                  FieldOption{"strategy", "strategy", strategy_word},
                                  FieldOption{"use_orig_params", "use-orig-params"},
                                  FieldOption{"limit_all_gathers", "limit-all-gathers"},
                                  FieldOption{"replicate", "dp-replicate"},
                                  FieldOption{"rank"},
                                  FieldOption{"backend", "backend"},
                                  FieldOption{"forward_prefetch", "forward-prefetch"}};

// fully_shard over modules that parallelize_module has cut.
constexpr std::array kFsdp2TensorParallelFields{FieldOption{"kind"},
                                                FieldOption{"dp", "dp"},
                                                FieldOption{"tp", "tp"},
                                                FieldOption{"mp", "param-dtype"},
                                                FieldOption{"reduce", "reduce-dtype"},
                                                FieldOption{"reshard", "reshard", reshard_word},
                                                FieldOption{"backend", "backend"},
                                                FieldOption{"sequence_parallel", "sp"},
                                                FieldOption{"loss_parallel", "loss-parallel"}};

// Colossal-AI's Gemini around a model that was loaded in fp32 and halved.
constexpr std::array kGeminiFields{FieldOption{"kind"}, FieldOption{"world"},
                                   FieldOption{"dp", "dp"}, FieldOption{"tp", "tp"}};

// tools/python/frameworks/record_pipeline.py
constexpr std::array kPipelineFields{FieldOption{"kind"},
                                     FieldOption{"pp", "pp"},
                                     FieldOption{"rank"},
                                     FieldOption{"schedule", "pp-schedule"},
                                     FieldOption{"chunks", "pp-chunks"},
                                     FieldOption{"data", "dp-kind"},
                                     FieldOption{"dp", "dp"},
                                     FieldOption{"mp", "param-dtype"},
                                     FieldOption{"reduce", "reduce-dtype"},
                                     FieldOption{"reshard", "reshard", reshard_word},
                                     FieldOption{"bucket_view", "bucket-view"},
                                     FieldOption{"bucket_cap_mb", "bucket-cap-mb"},
                                     FieldOption{"tp", "tp"},
                                     FieldOption{"sequence_parallel", "sp"},
                                     FieldOption{"loss_parallel", "loss-parallel"}};

constexpr double kDdpBucketMib = 25;  ///< the recorder passes a size in every case

void start_pipeline(const Field& dist, Parallelism& parallel) {
  parallel.tp_kind = dist.find("tp") ? TensorParallel::dtensor : parallel.tp_kind;
  const auto data = dist.find("data");
  if (data && data->text() == "ddp") {
    parallel.ddp.bucket_cap_mb = kDdpBucketMib;
  } else if (data) {
    parallel.fsdp.reshard = Reshard::never;  // fully_shard keeps what it gathered
  }
}

/// FSDP1 mixes types only where it computes in another one, and then reduces in fp32.
void mix_as_recorded(const Field& dist, Parallelism& parallel) {
  const auto reduce = dist.find("reduce");
  if (!parallel.fsdp.param_dtype) {
    parallel.fsdp.reduce_dtype.reset();
  } else if (!reduce || reduce->is_null()) {
    parallel.fsdp.reduce_dtype = DType::fp32;
  }
}

void start_fully_shard(Parallelism& parallel) {
  parallel.dp_kind = DataParallel::fsdp2;
  parallel.fsdp.reshard = Reshard::all;
}

void nothing(const Field& /*dist*/, Parallelism& /*parallel*/) {}

/// One kind of `dist`: its fields, and what its script does whatever they say.
struct DistKind {
  std::string_view kind;
  std::span<const FieldOption> fields;
  bool reads_no_sync;
  void (*start)(const Field& dist, Parallelism& parallel);
  void (*finish)(const Field& dist, Parallelism& parallel) = nothing;
  int least_dp = 1;
  int least_tp = 1;
};

constexpr std::array kDistKinds{
    DistKind{"ddp", kDdpFields, true,
             [](const Field&, Parallelism& p) { p.ddp.bucket_cap_mb = kDdpBucketMib; }, nothing, 2},
    DistKind{"tp", kTensorParallelFields, false,
             [](const Field&, Parallelism& p) { p.tp_kind = TensorParallel::dtensor; }, nothing, 1,
             2},
    DistKind{"fsdp2", kFsdp2Fields, true,
             [](const Field&, Parallelism& p) { start_fully_shard(p); }, nothing, 2},
    DistKind{"fsdp1", kFsdp1Fields, true,
             [](const Field&, Parallelism& p) { p.dp_kind = DataParallel::fsdp1; },
             mix_as_recorded},
    DistKind{"fsdp2+tp", kFsdp2TensorParallelFields, true,
             [](const Field&, Parallelism& p) {
               start_fully_shard(p);
               p.tp_kind = TensorParallel::dtensor;
             },
             nothing, 2, 2},
    DistKind{"pp", kPipelineFields, false, start_pipeline},
    DistKind{"gemini", kGeminiFields, false,
             [](const Field&, Parallelism& p) {
               p.dp_kind = DataParallel::zero3;
               p.tp_kind = TensorParallel::colossalai;
             }},
};

void require_ranks(const DistKind& kind, const Parallelism& parallel) {
  if (parallel.dp < kind.least_dp || parallel.tp < kind.least_tp) {
    throw Unsupported{
        fmt::format("dist.kind {} over one rank is not supported", std::string(kind.kind))};
  }
}

void read_kind(const DistKind& kind, const Field& fields, TrainingPlan& plan) {
  const Field dist = fields.at("dist");
  require_known(dist, kind.fields);
  kind.start(dist, plan.parallel);
  set_options(plan, kind.fields, dist);
  kind.finish(dist, plan.parallel);
  require_ranks(kind, plan.parallel);
  if (const auto rank = dist.find("rank"); rank && !rank->is_null()) {
    plan.parallel.rank = rank->small_count();
  }
  if (kind.reads_no_sync) {
    set_option(plan, "no-sync", fields.at("no_sync"));
  }
}

void read_dist(const Field& fields, TrainingPlan& plan) {
  const std::string kind = fields.at("dist").at("kind").text();
  const auto known = std::ranges::find(kDistKinds, kind, &DistKind::kind);
  if (kind == "deepspeed") {
    read_deepspeed(fields.at("dist"), plan);
  } else if (known != kDistKinds.end()) {
    read_kind(*known, fields, plan);
  } else if (kind != "none") {
    throw Unsupported{fmt::format("distributed plans are not supported yet (dist.kind {})", kind)};
  }
}

constexpr std::array kRigOptions{FieldOption{"event_lag", "event-lag"},
                                 FieldOption{"event_queries", "event-queries"}};

}  // namespace

Parallelism read_parallelism(const Field& fields) {
  TrainingPlan plan;
  read_dist(fields, plan);
  if (const auto offload = fields.find("offload")) {
    set_option(plan, "offload", *offload);
  }
  set_options(plan, kRigOptions, fields.at("rig"));
  return plan.parallel;
}

}  // namespace highwater::recorded
