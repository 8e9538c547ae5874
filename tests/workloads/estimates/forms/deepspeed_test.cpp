// DeepSpeed's estimates: values worked out by hand from its rules.
#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/workloads/estimates/forms/estimated_plan.hpp"
#include "workloads/estimates/forms/deepspeed_activations.hpp"
#include "workloads/estimates/forms/deepspeed_host.hpp"
#include "workloads/estimates/forms/deepspeed_zero2.hpp"
#include "workloads/estimates/forms/deepspeed_zero3.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using Catch::Contains;
using test::estimated_plan;
using test::form_named;
using test::inputs_of;
using test::kGiB;

namespace {

bool mentions(const std::vector<std::string>& sentences, std::string_view part) {
  return std::ranges::any_of(sentences, [part](const std::string& sentence) {
    return sentence.find(part) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("estimates: DeepSpeed's three rules for ZeRO-2", "[workloads][estimates]") {
  const DeepspeedJob job{8, 2};
  const double p = 1'000'001;
  const auto docs = deepspeed_zero2(p, job, DeepspeedZero2Rule::docs, false);
  CHECK(docs.gpu.bytes() == 4 * p + 1'000'001);  // int(16 P / 16)
  CHECK(docs.host_bytes == 48'000'048);          // P * 4 * 8 * 1.5
  const auto current = deepspeed_zero2(p, job, DeepspeedZero2Rule::code_current, false);
  CHECK(current.gpu.bytes() == 2 * p + 1'125'001);  // int(18 P / 16) = int(1125001.125)
  CHECK(deepspeed_zero2(p, job, DeepspeedZero2Rule::docs, true).host_bytes == 48'000'048);
  CHECK(deepspeed_zero2(p, job, DeepspeedZero2Rule::code, true).host_bytes == 96'000'096);
  // At least 16 bytes of fp32 states, however few processes there are.
  CHECK(deepspeed_zero2(p, {1, 1}, DeepspeedZero2Rule::docs, true).host_bytes == 24'000'024);
  CHECK(deepspeed_zero2(p, job, DeepspeedZero2Rule::code, true).gpu.bytes() == 2 * p);
}

TEST_CASE("estimates: DeepSpeed's cases of ZeRO-3", "[workloads][estimates]") {
  const DeepspeedJob job{8, 2};
  const double p = 1'000'001;
  const double layer = 1000;
  const auto of = [&](DeepspeedOffload offload, bool zero_init) {
    return deepspeed_zero3(p, layer, job, offload, zero_init);
  };
  CHECK(of(DeepspeedOffload::none, true).gpu.bytes() == 4000 + 1'125'001);
  CHECK(of(DeepspeedOffload::optimizer, true).gpu.bytes() == 4000 + 125'000);
  CHECK(of(DeepspeedOffload::both, true).gpu.bytes() == 4000);
  CHECK(of(DeepspeedOffload::none, true).host_bytes == 48'000);
  CHECK(of(DeepspeedOffload::none, false).host_bytes == 48'000'048);
  CHECK(of(DeepspeedOffload::both, true).host_bytes == 13'500'013);       // P * 9 * 1.5
  CHECK(of(DeepspeedOffload::both, false).host_bytes == 48'000'048);      // 32 > 9
  CHECK(of(DeepspeedOffload::optimizer, true).host_bytes == 12'000'012);  // P * 8 * 1.5
}

TEST_CASE("estimates: DeepSpeed's rows take the offloading from the plan and need nothing more",
          "[workloads][estimates]") {
  const EstimateInputs inputs = inputs_of(estimated_plan("t5-3b"), 8);
  const Formula& zero3 = form_named("deepspeed-zero3");
  REQUIRE(zero3.refusal(inputs).empty());
  CHECK(zero3.evaluate(inputs).bytes() / kGiB == Approx(6.098014).epsilon(1e-6));
  CHECK(form_named("deepspeed-zero2").evaluate(inputs).bytes() / kGiB ==
        Approx(15.934547).epsilon(1e-6));
  CHECK(form_named("deepspeed-zero2-current").evaluate(inputs).bytes() / kGiB ==
        Approx(11.286971).epsilon(1e-6));
  CHECK(mentions(zero3.broken_assumptions(inputs), "the plan's data parallelism is ddp"));
  const std::vector<FormulaVariant> rows = zero3.variants(inputs);
  REQUIRE(rows.size() == 6);
  CHECK(rows[0].label == "offload_param=cpu, offload_optimizer=cpu, zero_init=1");
  CHECK(rows[0].host_bytes / kGiB == Approx(71.705463).epsilon(1e-6));
  CHECK(form_named("deepspeed-zero2").variants(inputs).size() == 2);

  TrainingPlan plan = estimated_plan("t5-3b");
  plan.parallel.offload = Offload::both;
  CHECK(zero3.evaluate(inputs_of(plan, 8)).bytes() == 4 * 32899072.0);
  CHECK_THAT(form_named("deepspeed-zero2").refusal(inputs_of(plan, 8)),
             Contains("only optimizer states"));
  plan.parallel.offload = Offload::params;
  CHECK_THAT(zero3.refusal(inputs_of(plan, 8)), Contains("only together"));
  plan.parallel.offload = Offload::optimizer;
  CHECK(form_named("deepspeed-zero2").evaluate(inputs_of(plan, 8)).bytes() == 2 * 2851598336.0);
  plan.parallel.dp_kind = DataParallel::fsdp2;
  CHECK(zero3.refusal(inputs_of(plan, 8)).empty());
  CHECK(mentions(zero3.broken_assumptions(inputs_of(plan, 8)), "data parallelism is fsdp2"));
  plan.parallel.dp_kind = DataParallel::zero3;
  CHECK(zero3.broken_assumptions(inputs_of(plan, 8)).empty());
}

TEST_CASE("estimates: DeepSpeed's smaller rules", "[workloads][estimates]") {
  CHECK(deepspeed_pinned_host(10, true, false) == 60);
  CHECK(deepspeed_pinned_host(10, true, true) == 80);
  CHECK(deepspeed_pinned_host(10, false, true) == 40);
  CHECK(deepspeed_checkpoint_parameters(42.1e9) == Approx(10.525e9));
  CHECK(deepspeed_activations(1024, 1, 1024, 16).bytes() == 50331648);
}
