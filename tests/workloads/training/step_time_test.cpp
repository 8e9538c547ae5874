// The rough time of a step: by hand for one GPU, and what each axis adds.
#include "workloads/training/step_time.hpp"

#include <catch2/catch.hpp>

#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/parameter_count.hpp"

using namespace highwater;

namespace {

TrainingPlan plan_of(const Parallelism& parallel) {
  TrainingPlan plan;
  plan.model = model_preset("gpt2");
  plan.precision = Precision::bf16;
  plan.parallel = parallel;
  return plan;
}

}  // namespace

// GPT-2 small on an A100: 6 P s + 6 L h s^2 operations of a sequence at 45 % of 108 * 2048 * 1.5
// GHz.
TEST_CASE("step time: one GPU by hand", "[workloads][plan]") {
  TrainingPlan plan = plan_of({});
  plan.seq = {1024};
  plan.batch = 2;
  const double parameters = static_cast<double>(parameter_count(plan.model.config).trainable());
  const double operations = 2 * (6 * parameters * 1024 + 6.0 * 12 * 768 * 1024 * 1024);
  const StepTime time = step_time(plan);
  CHECK(time.compute == Approx(operations / (0.45 * 108 * 2048 * 1.5e9)));
  CHECK(time.total() == time.compute);
  CHECK(sequences_per_second(plan) == Approx(2 / time.compute));
  plan.checkpoint.kind = CheckpointKind::full;  // forward runs twice
  CHECK(step_time(plan).compute == Approx(4.0 / 3 * time.compute));
  plan.checkpoint = {.kind = CheckpointKind::every_n, .n = 2};  // that of every second block does
  CHECK(step_time(plan).compute == Approx(7.0 / 6 * time.compute));
  plan.checkpoint = {.kind = CheckpointKind::selective_op};
  CHECK(step_time(plan).compute == time.compute);
}

// 16 ranks: all over two machines, or two copies over 8 neighbours each. The network carries 15/16
// of the parameters three times, or 1/8 of them in an all-reduce of two.
TEST_CASE("step time: copies for each machine spare the network", "[workloads][plan]") {
  Parallelism parallel{.dp = 16, .dp_kind = DataParallel::fsdp2};
  const double all = step_time(plan_of(parallel)).data_parallel;
  parallel.fsdp.replicas = 2;
  const double copies = step_time(plan_of(parallel)).data_parallel;
  const double link = 300e9;
  const double network = 50e9;
  CHECK(copies / all ==
        Approx((3 * 7.0 / 8 / link + 2.0 / 8 * (1.0 / 2) / network) / (3 * 15.0 / 16 / network)));
}

TEST_CASE("step time: each axis has its price", "[workloads][plan]") {
  const StepTime one = step_time(plan_of({}));
  const StepTime replicas = step_time(plan_of({.dp = 4}));
  CHECK(replicas.compute == one.compute);
  CHECK(replicas.data_parallel > 0);
  const StepTime sharded = step_time(plan_of({.dp = 4, .dp_kind = DataParallel::fsdp2}));
  CHECK(sharded.data_parallel == Approx(1.5 * replicas.data_parallel));  // two gathers and a sum
  const StepTime split = step_time(plan_of({.tp = 4}));
  CHECK(split.compute == Approx(one.compute / 4));
  CHECK(split.tensor_parallel > 0);
  CHECK(split.total() > split.compute);
  // Beyond one machine the network is slower than NVLink.
  CHECK(step_time(plan_of({.tp = 16})).tensor_parallel > 4 * split.tensor_parallel);
  TrainingPlan staged = plan_of({.pp = 4});
  staged.grad_accum = 12;
  CHECK(step_time(staged).bubble == Approx(step_time(staged).compute * 3 / 12));
}
