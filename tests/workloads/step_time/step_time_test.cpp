// The time of a step: products, collectives and pipelines by hand, from data sheets and NCCL's
// constants.
#include "workloads/step_time/step_time.hpp"

#include <catch2/catch.hpp>

#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/step_time/collective.hpp"
#include "workloads/step_time/layer_time.hpp"

using namespace highwater;
using namespace highwater::timing;

namespace {

constexpr double kMicro = 1e-6;

TrainingPlan plan_of(const Parallelism& parallel, std::string_view model = "llama-3-8b") {
  TrainingPlan plan;
  plan.model = model_preset(model);
  plan.precision = Precision::bf16;
  plan.gpu = *find_gpu("h100-80");
  plan.seq = {8192};
  plan.parallel = parallel;
  return plan;
}

TrainingPlan megatron_plan(Parallelism parallel, int micro_batches) {
  parallel.megatron.overlap_grad_reduce = true;
  TrainingPlan plan = plan_of(parallel);
  plan.model_code = ModelCode::megatron;
  plan.grad_accum = micro_batches;
  return plan;
}

double seconds(const TrainingPlan& plan, StepPart part) {
  return step_time(plan)[part];
}

}  // namespace

TEST_CASE("step time: a product takes whole waves of tiles", "[workloads][plan]") {
  // Four processors of 1 T each; a tile of 128 x 256 and 1,000 deep is 2 * 32,768 * 1,000
  // operations.
  const Rates rates{.operations = 4e12, .memory = 1e18, .element = 2, .multiprocessors = 4};
  const double tile = 2.0 * 128 * 256 * 1000 / 1e12;
  CHECK(seconds_of({128, 1024, 1000}, rates) == Approx(tile));
  CHECK(seconds_of({128, 1280, 1000}, rates) == Approx(1.5 * tile));  // ten of 128 x 128: 3 waves
  CHECK(seconds_of({512, 1024, 1000}, rates) == Approx(4 * tile));
}

TEST_CASE("step time: a thin product waits for memory", "[workloads][plan]") {
  const Rates rates{.operations = 4e12, .memory = 1e6, .element = 2, .multiprocessors = 4};
  CHECK(seconds_of({1, 2000, 1000}, rates) == Approx(2.0 * (1000 + 2'000'000 + 2000) / 1e6));
}

TEST_CASE("step time: rings, by the data sheet and NCCL's constants", "[workloads][plan]") {
  const Machine h100 = machine_of(*find_gpu("h100-80"));
  CHECK(h100.half_operations == Approx(0.803 * 989e12));
  // Eight neighbours: NVLink at 80 % of 450 GB/s, seven steps of 3.4 us.
  CHECK(all_gather(8e9, {8, 1}, h100) == Approx(7e9 / 360e9 + 8.4 * kMicro + 7 * 3.4 * kMicro));
  // Two machines: eight ports of 50 GB/s at 80 %, one step of 15 between them.
  CHECK(all_gather(16e9, {16, 1}, h100) ==
        Approx(15e9 / 320e9 + 8.4 * kMicro + 14 * 3.4 * kMicro + 14 * kMicro));
  // Eight ranks, each in a machine of its own, have a port each.
  CHECK(rate_of({8, 8}, h100) == Approx(40e9));
  CHECK(all_reduce(8e9, {8, 8}, h100) == Approx(14e9 / 40e9 + 8.4 * kMicro + 14 * 14 * kMicro));
  CHECK(all_reduce(8e9, {1, 1}, h100) == 0);
  // Short messages take the protocol with the shortest steps: LL.
  CHECK(all_gather(8, {8, 1}, h100) == Approx((6.6 + 7 * 0.6) * kMicro).epsilon(1e-4));
}

TEST_CASE("step time: an exchange sends each rank its part", "[workloads][plan]") {
  const Machine h100 = machine_of(*find_gpu("h100-80"));
  CHECK(all_to_all(8e9, {8, 1}, h100) == Approx(7e9 / 360e9 + 8.4 * kMicro));
  CHECK(all_to_all(16e9, {16, 1}, h100) == Approx(8e9 / 40e9 + 8.4 * kMicro));
}

// Llama 3 8B has 6.98e9 weights in its layers and 0.53e9 in its head: six operations each and
// token. Waves round up by a few percent.
TEST_CASE("step time: products of a whole model", "[workloads][plan]") {
  const double operations = 6 * (32 * (2.0 * 4096 * 5120 + 3.0 * 4096 * 14336) + 4096.0 * 128256);
  const double ideal = 8192 * operations / (0.803 * 989e12);
  const double time = seconds(plan_of({}), StepPart::products);
  CHECK(time > ideal);
  CHECK(time < 1.05 * ideal);
}

TEST_CASE("step time: full recomputation repeats a forward", "[workloads][plan]") {
  TrainingPlan plan = plan_of({});
  CHECK(seconds(plan, StepPart::recomputation) == 0);
  plan.checkpoint.kind = CheckpointKind::full;
  const double all = seconds(plan, StepPart::recomputation);
  plan.checkpoint = {.kind = CheckpointKind::every_n, .n = 2};
  CHECK(seconds(plan, StepPart::recomputation) == Approx(all / 2));
  plan.checkpoint = {.kind = CheckpointKind::selective_attention};
  // 2 s^2 h of causal attention forward, three and a half times that in both directions.
  CHECK(seconds(plan, StepPart::recomputation) == Approx(seconds(plan, StepPart::attention) / 3.5));
  CHECK(seconds(plan, StepPart::attention) ==
        Approx(3.5 * 32 * 2 * 8192.0 * 8192 * 4096 / (0.6 * 0.803 * 989e12)));
}

TEST_CASE("step time: a pipeline fills and drains, chunks divide that", "[workloads][plan]") {
  Parallelism parallel{.pp = 4};
  const StepTime plain = step_time(megatron_plan(parallel, 8));
  double micro_batches = 0;
  for (const StepPart part :
       {StepPart::products, StepPart::attention, StepPart::elementwise, StepPart::recomputation}) {
    micro_batches += plain[part];
  }
  CHECK(plain[StepPart::bubble] == Approx(3.0 / 8 * micro_batches));
  parallel.schedule = PipelineSchedule::interleaved;
  parallel.chunks = 4;
  CHECK(step_time(megatron_plan(parallel, 8))[StepPart::bubble] ==
        Approx(plain[StepPart::bubble] / 4));
}

// 48 layers on ten chunks, with the embedding and the head five each: the last rank has 24 layers
// and the head, as it has without chunks.
TEST_CASE("step time: the head takes the place of one layer", "[workloads][plan]") {
  Parallelism parallel{.pp = 2};
  const auto products = [&] {
    TrainingPlan plan = megatron_plan(parallel, 8);
    plan.model = model_preset("gpt2-xl");
    return seconds(plan, StepPart::products);
  };
  const double whole = products();
  parallel.schedule = PipelineSchedule::interleaved;
  parallel.chunks = 5;
  CHECK(products() == Approx(whole));
}

// Each layer is gathered before its forward and again before its backward, the embedding and the
// head once, whoever is trained: 16 bits each, three of four parts over PCIe. One token hides none.
TEST_CASE("step time: frozen shards are gathered as well", "[workloads][plan]") {
  Parallelism parallel{.dp = 4, .dp_kind = DataParallel::fsdp2};
  TrainingPlan plan = plan_of(parallel);
  plan.gpu = *find_gpu("rtx4090");
  plan.seq = {1};
  plan.lora.rank = 16;
  const double rate = machine_of(plan.gpu).link;
  const double layers = 32.0 * (2 * 4096.0 * (4096 + 1024) + 3 * 4096.0 * 14336 + 2 * 4096);
  const double ends = 2 * 128256.0 * 4096;
  const double layer = layers / 32;
  const double all = 2 * 0.75 * (2 * layers + layer + ends) / rate;
  const double gathering = seconds(plan, StepPart::data_parallel);
  CHECK(gathering > 0.9 * all);
  CHECK(gathering < 1.1 * all);
  plan.parallel.dp_kind = DataParallel::ddp;  // only adapters are summed
  CHECK(seconds(plan, StepPart::data_parallel) == 0);
}

// Half a byte is read and two are written of each weight, forward and backward, at the memory's
// rate.
TEST_CASE("step time: weights in 4 bits are made wide before each product", "[workloads][plan]") {
  TrainingPlan plan = plan_of({});
  plan.lora.rank = 16;
  const double plain = seconds(plan, StepPart::elementwise);
  plan.quantization.weights = WeightFormat::nf4;
  const double weights = 32.0 * (2 * 4096.0 * (4096 + 1024) + 3 * 4096.0 * 14336 + 2 * 4096);
  CHECK(seconds(plan, StepPart::elementwise) - plain ==
        Approx(2 * 2.5 * weights / machine_of(plan.gpu).memory).epsilon(1e-3));
}

TEST_CASE("step time: sharded parameters travel beside the kernels", "[workloads][plan]") {
  Parallelism parallel{.dp = 8, .dp_kind = DataParallel::fsdp2};
  const double near = seconds(plan_of(parallel), StepPart::data_parallel);
  CHECK(near < 0.05 * step_time(plan_of(parallel)).total());
  // Far more ranks: every gather has a step for each, and the kernels are no longer.
  parallel.dp = 8192;
  const double far = seconds(plan_of(parallel), StepPart::data_parallel);
  CHECK(far > 10 * near);
  parallel.fsdp.replicas = 1024;
  CHECK(seconds(plan_of(parallel), StepPart::data_parallel) < far / 4);
}

TEST_CASE("step time: sums of activations are waited for", "[workloads][plan]") {
  // Four per layer, of [8192, 4096] in 16 bits, over NVLink.
  const Machine h100 = machine_of(*find_gpu("h100-80"));
  const double sum = all_reduce(2.0 * 8192 * 4096, {4, 1}, h100);
  CHECK(seconds(plan_of({.tp = 4}), StepPart::tensor_parallel) == Approx(32 * 4 * sum));
  CHECK(seconds(plan_of({}), StepPart::tensor_parallel) == 0);
}

// Two gathers and two scatters forward, two gathers backward; what backward scatters goes on beside
// the gradients of weights, which take longer here.
TEST_CASE("step time: Megatron-Core sums gradients beside those of weights", "[workloads][plan]") {
  const Machine h100 = machine_of(*find_gpu("h100-80"));
  const double bytes = 2.0 * 8192 * 4096;
  const double gather = all_gather(bytes, {2, 1}, h100);
  const auto waited = [](const Parallelism& parallel) {
    return seconds(megatron_plan(parallel, 1), StepPart::tensor_parallel);
  };
  CHECK(waited({.tp = 2, .sequence_parallel = true}) == Approx(32 * 6 * gather));
  CHECK(waited({.tp = 2}) == Approx(32 * 2 * all_reduce(bytes, {2, 1}, h100)));
}

// Gathers are hidden but for what half of the product into the ring leaves; of each scatter forward
// the last of four parts is waited for.
TEST_CASE("step time: userbuffers hide sums behind products", "[workloads][plan]") {
  const Machine h100 = machine_of(*find_gpu("h100-80"));
  const TrainingPlan plan = megatron_plan({.tp = 2, .sequence_parallel = true}, 1);
  const TimeAssumptions overlaps{.tensor_sums = TensorSums::beside_products};
  const double gather = all_gather(2.0 * 8192 * 4096, {2, 1}, h100);
  const double into_projection = seconds_of({8192, 2048, 4096}, rates_of(plan, h100));
  REQUIRE(gather > into_projection / 2);
  CHECK(step_time(plan, overlaps)[StepPart::tensor_parallel] ==
        Approx(32 * (2 * gather / 4 + gather - into_projection / 2)).epsilon(1e-3));  // norms
  const TrainingPlan unsplit = megatron_plan({.tp = 2}, 1);
  CHECK(step_time(unsplit, overlaps)[StepPart::tensor_parallel] ==
        step_time(unsplit)[StepPart::tensor_parallel]);
}

TEST_CASE("step time: another network than the DGX's", "[workloads][plan]") {
  const Gpu& gpu = *find_gpu("a100-40");
  CHECK(machine_of(gpu).network == Approx(0.8 * 25e9));
  CHECK(machine_of(gpu, {.network = 6.25e9}).network == Approx(0.8 * 6.25e9));
  CHECK(machine_of(gpu, {.network = 6.25e9}).link == machine_of(gpu).link);
}

TEST_CASE("step time: every GPU has rates of its own, and sizes are said to have none",
          "[workloads][plan]") {
  for (const Gpu& gpu : known_gpus()) {
    INFO(gpu.name);
    CHECK(has_rates(gpu));
    CHECK(assumed_rates(gpu).empty());
    const Machine machine = machine_of(gpu);
    CHECK(machine.half_operations > machine.full_operations);
    CHECK(machine.full_operations > 1e12);
    CHECK(machine.memory > machine.link);
    CHECK(machine.link >= machine.host);
    CHECK(machine.host >= machine.network);
    CHECK(machine.network > 1e9);
  }
  const Gpu& sized = *find_gpu("24GiB");
  CHECK_FALSE(has_rates(sized));
  CHECK(assumed_rates(sized) == "no rates are known for 24GiB; those of a100-80 are assumed");
  CHECK(machine_of(sized).memory == machine_of(default_gpu()).memory);
}

TEST_CASE("step time: rates by the names of links and shares", "[workloads][plan]") {
  const Machine l40s = machine_of(*find_gpu("l40s"));
  CHECK(l40s.half_operations == 0.8 * 362 * 1e12);
  CHECK(l40s.full_operations == 0.8 * 183 * 1e12);
  CHECK(l40s.memory == 864e9);
  CHECK(l40s.link == 0.8 * 31.5 * 1e9);
  CHECK(l40s.network == 0.8 * 12.5 * 1e9);
  CHECK(l40s.host == 0.8 * 31.5 * 1e9);
  CHECK(machine_of(*find_gpu("gh200")).host == 0.8 * 450 * 1e9);
}

TEST_CASE("step time: the optimizer reads and writes its states", "[workloads][plan]") {
  // Megatron's Adam: gradient, and parameter and two moments both ways, in fp32, and a copy.
  const double parameters = 8030261248.0;
  const TrainingPlan plan = megatron_plan({}, 1);
  CHECK(seconds(plan, StepPart::optimizer) == Approx(30 * parameters / 3350e9).epsilon(0.001));
  Parallelism shared{.dp = 8, .dp_kind = DataParallel::zero1};
  CHECK(seconds(megatron_plan(shared, 1), StepPart::optimizer) ==
        Approx(seconds(plan, StepPart::optimizer) / 8));
}
