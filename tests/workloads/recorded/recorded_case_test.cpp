// Recorded cases: options become the plan, as do the fields of cases without them; what cannot be
// simulated says why; damage is an error that names the field.
#include "workloads/recorded/recorded_case.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "traces/error.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

namespace json = boost::json;

json::object marker(std::string_view phase, json::value step, json::value micro,
                    std::uint64_t index, std::uint64_t peak = 0) {
  json::object stats;
  for (const char* group : {"requested", "allocated", "active", "reserved"}) {
    stats[std::string(group) + "_bytes.all.current"] = index;
    stats[std::string(group) + "_bytes.all.peak"] = peak;
  }
  return {{"phase", phase},
          {"step", std::move(step)},
          {"micro", std::move(micro)},
          {"trace_index", index},
          {"stats", std::move(stats)}};
}

/// A complete description with one step of two micro-batches, without options.
json::object description() {
  return {
      {"case",
       {{"id", "some-case"},
        {"model", "gpt2"},
        {"batch", 2},
        {"seq", 128},
        {"precision", "fp32"},
        {"attention", "sdpa"},
        {"sdpa_backend", nullptr},
        {"checkpoint", "none"},
        {"optimizer", "adamw"},
        {"impl", "foreach"},
        {"param_groups", 1},
        {"grad_clip", nullptr},
        {"grad_accum", 2},
        {"no_sync", false},
        {"steps", 1},
        {"set_to_none", true},
        {"zero_grad_at", "end"},
        {"loss", "hf"},
        {"keep_logits", false},
        {"use_cache", false},
        {"attention_mask", false},
        {"data", "to"},
        {"dropout", nullptr},
        {"init", "device"},
        {"mode", "train"},
        {"dist", {{"kind", "none"}}},
        {"rig", json::object()},
        {"alloc_conf", ""},
        {"memory_limit_mib", nullptr},
        {"experts", nullptr},
        {"overrides", json::object()},
        {"stacks", nullptr},
        {"empty_cache_every_step", false},
        {"teardown", true}}},
      {"status", "ok"},
      {"torch", "2.6.0+debian"},
      {"transformers", "5.12.1"},
      {"fake_device", true},
      {"gpu",
       {{"name", "NVIDIA A100-SXM4-80GB"}, {"total_memory", 84987084800}, {"capability", {8, 0}}}},
      {"model",
       {{"family", "gpt2"},
        {"source", "transformers"},
        {"config", {{"model_type", "gpt2"}, {"n_layer", 2}}}}},
      {"sequence_lengths", {128, 96}},
      {"markers",
       {marker("start", nullptr, nullptr, 0), marker("model", nullptr, nullptr, 10),
        marker("optimizer", nullptr, nullptr, 10), marker("step_begin", 0, nullptr, 10),
        marker("data", 0, 0, 12), marker("forward", 0, 0, 20), marker("backward", 0, 0, 30),
        marker("data", 0, 1, 32), marker("forward", 0, 1, 40), marker("backward", 0, 1, 50),
        marker("optimizer_step", 0, nullptr, 60), marker("zero_grad", 0, nullptr, 64),
        marker("step_end", 0, nullptr, 64, 1000)}}};
}

RecordedCase read(const json::object& described) {
  return read_recorded_case(json::serialize(described), "X.json");
}

/// The case with other values for some fields.
RecordedCase with(std::initializer_list<std::pair<std::string_view, json::value>> fields) {
  json::object described = description();
  for (const auto& [key, value] : fields) {
    described["case"].as_object()[key] = value;
  }
  return read(described);
}

TrainingPlan plan_with(std::initializer_list<std::pair<std::string_view, json::value>> fields) {
  const RecordedCase recorded = with(fields);
  CAPTURE(recorded.unsupported_reason);
  REQUIRE(recorded.plan.has_value());
  return *recorded.plan;
}

}  // namespace

TEST_CASE("recorded case: options are a plan", "[workloads][recorded]") {
  json::object described = description();
  described["case"] = {{"id", "some-case"},
                       {"options",
                        {{"model", "gpt2"},
                         {"framework", "torch"},
                         {"batch", 2},
                         {"grad-accum", 2},
                         {"dropout", 0.5},
                         {"dp", 8},
                         {"dp-kind", "fsdp1"},
                         {"param-dtype", nullptr},
                         {"use-orig-params", false},
                         {"rank", 3},
                         {"optimizer", "adam"}}},
                       {"rig", {{"profile", "h100-80"}}},
                       {"memory_limit_mib", nullptr}};
  const RecordedCase recorded = read(described);
  CAPTURE(recorded.unsupported_reason);
  REQUIRE(recorded.plan.has_value());
  CHECK(recorded.plan->model.name == "gpt2");
  CHECK(recorded.plan->seq == std::vector<std::int64_t>{128, 96});
  CHECK(recorded.plan->grad_accum == 2);
  CHECK(recorded.plan->dropout == 0.5);
  CHECK(recorded.plan->optimizer.kind == OptimizerKind::adam);
  CHECK(recorded.plan->parallel == Parallelism{.dp = 8,
                                               .dp_kind = DataParallel::fsdp1,
                                               .fsdp = {.use_orig_params = false},
                                               .rank = 3});
  CHECK(recorded.plan->gpu.major == 9);

  const auto reason = [&](std::string_view option, const json::value& value) {
    json::object changed = described;
    changed["case"].as_object()["options"].as_object()[option] = value;
    return read(changed).unsupported_reason;
  };
  CHECK_THAT(reason("optimzer", "adam"), Contains("did you mean --optimizer"));
  CHECK_THAT(reason("optimizer", "prodigy"), Contains("--optimizer prodigy"));
  CHECK_THAT(reason("rank", "all"), Contains("--rank all"));
}

TEST_CASE("recorded case: what cases without options say by default", "[workloads][recorded]") {
  const RecordedCase recorded = read(description());
  CHECK(recorded.id == "some-case");
  CHECK(recorded.status == CaseStatus::ok);
  CHECK(recorded.torch == "2.6");
  CHECK(recorded.transformers == "5.12");
  CHECK(recorded.gpu.total_memory == Bytes{84987084800});
  CHECK_FALSE(recorded.memory_fraction.has_value());
  REQUIRE(recorded.plan.has_value());
  CHECK(recorded.plan->model_code == ModelCode::hf);
  CHECK(recorded.plan->batch == 2);
  CHECK(recorded.plan->seq == std::vector<std::int64_t>{128, 96});
  CHECK(recorded.plan->grad_accum == 2);
  CHECK(recorded.plan->optimizer.kind == OptimizerKind::adamw);
  CHECK(recorded.plan->optimizer.impl == OptimizerImpl::foreach);
  CHECK(recorded.plan->gpu.total_memory == Bytes{84987084800});
  REQUIRE(recorded.steps.size() == 1);
  CHECK(recorded.steps[0].peak.reserved == Bytes{1000});
}

TEST_CASE("recorded case: every axis reaches the plan", "[workloads][recorded]") {
  CHECK(plan_with({{"precision", "amp-fp16"}}).precision == Precision::amp_fp16);
  CHECK(plan_with({{"attention", "eager"}}).attention == Attention::eager);
  CHECK(plan_with({{"sdpa_backend", "math"}}).attention == Attention::sdpa_math);
  CHECK(plan_with({{"checkpoint", "nonreentrant"}}).checkpoint.kind == CheckpointKind::full);
  const Checkpoint every_second = plan_with({{"checkpoint", "every2-reentrant"}}).checkpoint;
  CHECK(every_second.kind == CheckpointKind::every_n);
  CHECK(every_second.n == 2);
  CHECK(every_second.reentrant);
  CHECK(plan_with({{"optimizer", "sgd-momentum"}, {"impl", "default"}}).optimizer.kind ==
        OptimizerKind::sgd_momentum);
  CHECK(plan_with({{"grad_clip", 1.0}}).grad_clip == 1.0);
  CHECK(plan_with({{"zero_grad_at", "start"}}).zero_grad_at == ZeroGradAt::start);
  CHECK(plan_with({{"loss", "flat"}}).loss.kind == LossKind::flat);
  CHECK(plan_with({{"dropout", 0.0}}).dropout == 0.0);
  CHECK(plan_with({{"data", "device"}}).data == DataSource::device);
  CHECK(plan_with({{"init", "cpu"}}).init == ModelInit::cpu);
  CHECK_FALSE(plan_with({{"mode", "eval"}}).training);
  CHECK(plan_with({{"experts", "even"}}).experts == Experts::even);
  CHECK(plan_with({{"empty_cache_every_step", true}}).empty_cache_every_step);
  CHECK(plan_with({{"rig", {{"profile", "h100-80"}}}}).gpu.major == 9);
}

TEST_CASE("recorded case: DDP's fields become axes", "[workloads][recorded]") {
  const Parallelism plain = plan_with({{"dist", {{"kind", "ddp"}, {"world", 8}}}}).parallel;
  CHECK(plain ==
        Parallelism{.dp = 8, .ddp = {.bucket_cap_mb = 25}});  // the recorder always gives a size
  const Parallelism other = plan_with({{"dist",
                                        {{"kind", "ddp"},
                                         {"world", 2},
                                         {"bucket_view", true},
                                         {"bucket_cap_mb", 10},
                                         {"static_graph", true},
                                         {"backend", "fake"}}},
                                       {"no_sync", true},
                                       {"rig", {{"event_lag", 20}, {"event_queries", 3}}}})
                                .parallel;
  CHECK(other ==
        Parallelism{.dp = 2,
                    .ddp = {.bucket_cap_mb = 10, .bucket_view = true, .static_graph = true},
                    .no_sync = true,
                    .backend = CommBackend::fake,
                    .event_lag = 20,
                    .event_queries = 3});
  CHECK_THAT(
      with({{"dist", {{"kind", "ddp"}, {"world", 2}, {"join_mode", true}}}}).unsupported_reason,
      Contains("join_mode is not a known field"));
}

TEST_CASE("recorded case: fully_shard's fields become axes", "[workloads][recorded]") {
  const Parallelism plain = plan_with({{"dist", {{"kind", "fsdp2"}, {"world", 8}}}}).parallel;
  CHECK(plain ==
        Parallelism{.dp = 8, .dp_kind = DataParallel::fsdp2, .fsdp = {.reshard = Reshard::all}});
  const auto with_reshard = [](const json::value& reshard) {
    return plan_with({{"dist", {{"kind", "fsdp2"}, {"world", 8}, {"reshard", reshard}}}})
        .parallel.fsdp.reshard;
  };
  CHECK(with_reshard(true) == Reshard::all);
  CHECK(with_reshard(false) == Reshard::never);
  CHECK(with_reshard("but-last") == Reshard::but_last);
  const Parallelism other = plan_with({{"dist",
                                        {{"kind", "fsdp2"},
                                         {"world", 8},
                                         {"mp", "bf16"},
                                         {"reduce", "fp32"},
                                         {"replicate", 2},
                                         {"rank", 5},
                                         {"backend", "fake"}}},
                                       {"no_sync", true}})
                                .parallel;
  CHECK(other == Parallelism{.dp = 8,
                             .dp_kind = DataParallel::fsdp2,
                             .fsdp = {.param_dtype = DType::bf16,
                                      .reduce_dtype = DType::fp32,
                                      .reshard = Reshard::all,
                                      .replicas = 2},
                             .no_sync = true,
                             .rank = 5,
                             .backend = CommBackend::fake});
}

TEST_CASE("recorded case: FSDP1's fields become axes", "[workloads][recorded]") {
  const Parallelism plain = plan_with({{"dist", {{"kind", "fsdp1"}, {"world", 8}}}}).parallel;
  CHECK(plain == Parallelism{.dp = 8, .dp_kind = DataParallel::fsdp1});
  const Parallelism other = plan_with({{"dist",
                                        {{"kind", "fsdp1"},
                                         {"world", 8},
                                         {"mp", "bf16"},
                                         {"strategy", "HYBRID_SHARD"},
                                         {"replicate", 2},
                                         {"rank", 5},
                                         {"use_orig_params", false},
                                         {"limit_all_gathers", false},
                                         {"forward_prefetch", true},
                                         {"backend", "fake"}}}})
                                .parallel;
  CHECK(other == Parallelism{.dp = 8,
                             .dp_kind = DataParallel::fsdp1,
                             .fsdp = {.param_dtype = DType::bf16,
                                      .reduce_dtype = DType::fp32,  // the recorder's default
                                      .strategy = ShardingStrategy::hybrid_shard,
                                      .use_orig_params = false,
                                      .limit_all_gathers = false,
                                      .forward_prefetch = true,
                                      .replicas = 2},
                             .rank = 5,
                             .backend = CommBackend::fake});
}

TEST_CASE("recorded case: a memory limit is a fraction of the device", "[workloads][recorded]") {
  const RecordedCase limited = with({{"memory_limit_mib", 4096}});
  CHECK(limited.memory_fraction == Approx(4096.0 * 1048576 / 84987084800.0));
  CHECK(with({{"memory_limit_mib", 1000000}}).memory_fraction == 1.0);
}

TEST_CASE("recorded case: what cannot be simulated says why", "[workloads][recorded]") {
  const auto reason = [](const RecordedCase& recorded) {
    CHECK_FALSE(recorded.plan.has_value());
    return recorded.unsupported_reason;
  };
  CHECK_THAT(reason(with({{"dist", {{"kind", "ring"}}}})),
             Contains("distributed plans are not supported yet (dist.kind ring)"));
  CHECK_THAT(reason(with({{"optimizer", "prodigy"}})), Contains("--optimizer prodigy"));
  CHECK_THAT(reason(with({{"checkpoint", "everyx-reentrant"}})),
             Contains("--checkpoint everyx-reentrant"));
  CHECK_THAT(reason(with({{"novelty", 1}})), Contains("case.novelty is not a known field"));

  json::object mixture = description();
  mixture["model"].as_object()["config"] = {{"model_type", "mixtral"}, {"num_local_experts", 8}};
  CHECK_THAT(reason(read(mixture)), Contains("not ground truth"));
  mixture["case"].as_object()["experts"] = "even";
  CHECK(read(mixture).plan.has_value());

  json::object uncovered = description();
  uncovered["model"].as_object()["config"] = {{"model_type", "perceiver"}};
  CHECK_THAT(reason(read(uncovered)), Contains("perceiver"));
}

TEST_CASE("recorded case: damage is an error that names the field", "[workloads][recorded]") {
  const auto error_of = [](const json::object& described) -> std::string {
    try {
      read(described);
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  };
  json::object described = description();
  described["case"].as_object().erase("dist");
  CHECK_THAT(error_of(described), Contains("X.json: case: the field 'dist' is missing"));

  described = description();
  described["case"].as_object().erase("model");
  CHECK_THAT(error_of(described), Contains("X.json: case: the case names no model"));

  described = description();
  described["markers"].as_array()[3].as_object()["step"] = "zero";
  CHECK_THAT(error_of(described), Contains("X.json: markers[3].step: expected an integer"));

  described = description();
  described["gpu"].as_object()["total_memory"] = -1;
  CHECK_THAT(error_of(described), Contains("gpu.total_memory"));

  described = description();
  described["status"] = "perhaps";
  CHECK_THAT(error_of(described), Contains("X.json: status"));

  CHECK_THROWS_WITH(read_recorded_case("{\"case\": ", "X.json"), Contains("not JSON"));
  CHECK_THROWS_WITH(read_recorded_case("[]", "X.json"), Contains("expected an object"));
}

TEST_CASE("recorded case: a marker ends the phase that it names", "[workloads][recorded]") {
  const std::vector<RecordedPhase> phases = recorded_phases(read(description()));
  CHECK(phases == std::vector<RecordedPhase>{{0, std::nullopt, "init"},
                                             {10, 0, "step_begin"},
                                             {10, 0, "data"},
                                             {12, 0, "forward"},
                                             {20, 0, "backward"},
                                             {30, 0, "data"},
                                             {32, 0, "forward"},
                                             {40, 0, "backward"},
                                             {50, 0, "optimizer"},
                                             {60, 0, "zero_grad"},
                                             {64, 0, "step_end"}});
}

TEST_CASE("recorded case: the phase that ran out of memory follows the last marker",
          "[workloads][recorded]") {
  json::object described = description();
  described["status"] = "oom";
  json::array& markers = described["markers"].as_array();
  markers.resize(10);  // up to the last backward
  markers.push_back(marker("oom", nullptr, nullptr, 53));
  const RecordedCase recorded = read(described);
  CHECK(recorded.status == CaseStatus::out_of_memory);
  CHECK(recorded.oom_step == 0U);
  CHECK(recorded.steps.empty());
  CHECK(recorded_phases(recorded).back() == RecordedPhase{50, 0, "optimizer"});
  markers.erase(markers.end() - 3);  // the last backward itself ran out
  markers.erase(markers.end() - 2);
  CHECK(recorded_phases(read(described)).back() == RecordedPhase{32, 0, "forward"});
}
