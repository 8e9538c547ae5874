// The closed forms: values worked out by hand, limits in which one form is another, and what every
// row of the table promises.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "workloads/estimates/forms/accelerate.hpp"
#include "workloads/estimates/forms/deepspeed_activations.hpp"
#include "workloads/estimates/forms/deepspeed_host.hpp"
#include "workloads/estimates/forms/deepspeed_zero2.hpp"
#include "workloads/estimates/forms/deepspeed_zero3.hpp"
#include "workloads/estimates/forms/four_n.hpp"
#include "workloads/estimates/forms/korthikanti.hpp"
#include "workloads/estimates/forms/megatron.hpp"
#include "workloads/estimates/forms/nemo.hpp"
#include "workloads/estimates/forms/zero_paper.hpp"
#include "workloads/estimates/terms/model_traits.hpp"
#include "workloads/plan/catalog/presets.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

constexpr double kGiB = 1073741824.0;

TrainingPlan plan_of(std::string_view model) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = model_preset(model);
  plan.seq = {512};
  plan.precision = Precision::bf16;
  plan.optimizer.master_weights = true;
  if (!supports_sdpa(plan)) {
    plan.attention = Attention::eager;
  }
  return plan;
}

TrainingPlan without_training(TrainingPlan plan) {
  plan.training = false;
  plan.optimizer = {.kind = OptimizerKind::none};
  return plan;
}

EstimateInputs inputs_of(const TrainingPlan& plan, int gpus_per_node = 1, int nodes = 1) {
  REQUIRE(plan_problems(plan).empty());
  return estimate_inputs(plan, {gpus_per_node, nodes});
}

const Formula& form(std::string_view name) {
  const Formula* const found = find_formula(name);
  REQUIRE(found != nullptr);
  return *found;
}

/// Plans that between them take every branch of the rows.
std::vector<EstimateInputs> various_inputs() {
  TrainingPlan parallel = plan_of("gpt2-medium");
  parallel.parallel = {.dp = 2, .dp_kind = DataParallel::zero1, .tp = 4, .sequence_parallel = true};
  parallel.checkpoint.kind = CheckpointKind::selective_attention;
  TrainingPlan pipeline = plan_of("gpt2-medium");
  pipeline.parallel = {.tp = 2, .pp = 4, .schedule = PipelineSchedule::interleaved, .chunks = 3};
  pipeline.grad_accum = 4;
  pipeline.checkpoint.kind = CheckpointKind::full;
  TrainingPlan eager = plan_of("gpt2");
  eager.attention = Attention::eager;
  TrainingPlan offloaded = plan_of("gpt2");
  offloaded.parallel.offload = Offload::optimizer;
  return {inputs_of(plan_of("gpt2")),
          inputs_of(plan_of("llama-7b"), 8),
          inputs_of(parallel, 8),
          inputs_of(pipeline, 8),
          inputs_of(eager),
          inputs_of(offloaded, 8, 2),
          inputs_of(plan_of("t5-3b"), 8),
          inputs_of(without_training(plan_of("gpt2")))};
}

double sum(const Estimate& estimate) {
  double total = 0;
  for (const EstimateTerm& term : estimate.terms) {
    total += term.bytes;
  }
  return total;
}

bool mentions(const std::vector<std::string>& sentences, std::string_view part) {
  return std::ranges::any_of(sentences, [part](const std::string& sentence) {
    return sentence.find(part) != std::string::npos;
  });
}

KorthikantiRun gpt3(double tp, bool sequence_parallel) {
  return {.seq = 2048,
          .batch = 1,
          .hidden = 12288,
          .heads = 96,
          .layers = 96,
          .vocab = 51200,
          .tp = tp,
          .sequence_parallel = sequence_parallel};
}

}  // namespace

TEST_CASE("estimates: every row says what it is, by a name of its own", "[workloads][estimates]") {
  std::set<std::string_view> names;
  for (const Formula* formula : formulas()) {
    CAPTURE(formula->name);
    CHECK(names.insert(formula->name).second);
    CHECK(find_formula(formula->name) == formula);
    for (const std::string_view text : {formula->title, formula->equation, formula->source,
                                        formula->assumptions, formula->known_errors}) {
      CHECK_FALSE(text.empty());
    }
    CHECK(formula->refusal != nullptr);
    CHECK(formula->broken_assumptions != nullptr);
    CHECK(formula->evaluate != nullptr);
  }
  CHECK(find_formula("nosuch") == nullptr);
}

TEST_CASE("estimates: terms are not negative, named, stand for something and sum to the total",
          "[workloads][estimates]") {
  for (const EstimateInputs& inputs : various_inputs()) {
    for (const Formula* formula : formulas()) {
      CAPTURE(formula->name, inputs.plan.model.name);
      if (!formula->refusal(inputs).empty()) {
        continue;
      }
      const Estimate estimate = formula->evaluate(inputs);
      CHECK(estimate.bytes() == sum(estimate));
      const std::vector<std::int64_t> whole = whole_bytes(estimate);
      CHECK(std::accumulate(whole.begin(), whole.end(), std::int64_t{0}) ==
            std::llround(estimate.bytes()));
      for (const EstimateTerm& term : estimate.terms) {
        CAPTURE(term.name);
        CHECK(term.bytes >= 0);
        CHECK_FALSE(term.name.empty());
        CHECK_FALSE(term.equation.empty());
        CHECK_FALSE(term.covers.empty());
      }
      if (formula->variants != nullptr) {
        for (const FormulaVariant& variant : formula->variants(inputs)) {
          CHECK_FALSE(variant.label.empty());
          CHECK(variant.gpu_bytes > 0);
        }
      }
    }
  }
}

TEST_CASE("estimates: whole bytes lose nothing to rounding", "[workloads][estimates]") {
  const Estimate thirds{
      {{"a", "x", 1.0 / 3, {}}, {"b", "x", 1.0 / 3, {}}, {"c", "x", 1.0 / 3, {}}}};
  CHECK(whole_bytes(thirds) == std::vector<std::int64_t>{0, 1, 0});
}

TEST_CASE("estimates: more tokens never need less", "[workloads][estimates]") {
  for (const std::string_view model : {"gpt2", "llama-7b"}) {
    TrainingPlan small = plan_of(model);
    TrainingPlan large_batch = small;
    large_batch.batch = 3;
    TrainingPlan long_seq = small;
    long_seq.seq = {1024};
    for (const Formula* formula : formulas()) {
      CAPTURE(formula->name, model);
      const double before = formula->evaluate(inputs_of(small)).bytes();
      const double with_batch = formula->evaluate(inputs_of(large_batch)).bytes();
      const double with_seq = formula->evaluate(inputs_of(long_seq)).bytes();
      if (formula->scope == FormulaScope::model_states) {
        CHECK(with_batch == before);
        CHECK(with_seq == before);
      } else {
        CHECK(with_batch > before);
        CHECK(with_seq > before);
      }
    }
  }
}

TEST_CASE("estimates: the ZeRO paper's example of 7.5e9 parameters on 64 GPUs",
          "[workloads][estimates]") {
  CHECK(zero_paper(7.5e9, 64, ZeroStage::replicated).bytes() == 120e9);
  CHECK(zero_paper(7.5e9, 64, ZeroStage::one).bytes() == Approx(31.40625e9));
  CHECK(zero_paper(7.5e9, 64, ZeroStage::two).bytes() == Approx(16.640625e9));
  CHECK(zero_paper(7.5e9, 64, ZeroStage::three).bytes() == Approx(1.875e9));
}

TEST_CASE("estimates: one rank shares nothing, and stage 3 falls with the ranks",
          "[workloads][estimates]") {
  const double replicated = zero_paper(1e9, 1, ZeroStage::replicated).bytes();
  CHECK(replicated == four_n(1e9).bytes());
  for (const auto stage : {ZeroStage::one, ZeroStage::two, ZeroStage::three}) {
    CHECK(zero_paper(1e9, 1, stage).bytes() == replicated);
  }
  for (const double ranks : {2.0, 8.0, 64.0}) {
    CHECK(zero_paper(1e9, ranks, ZeroStage::three).bytes() == Approx(replicated / ranks));
    CHECK(zero_paper(1e9, ranks, ZeroStage::two).bytes() <
          zero_paper(1e9, ranks, ZeroStage::one).bytes());
  }
}

TEST_CASE("estimates: the ZeRO paper's row takes the stage from the plan",
          "[workloads][estimates]") {
  TrainingPlan plan = plan_of("gpt2");
  plan.parallel.dp = 4;
  const auto bytes = [&](DataParallel kind) {
    plan.parallel.dp_kind = kind;
    return form("zero-paper").evaluate(inputs_of(plan, 4)).bytes();
  };
  const double p = 124439808;
  CHECK(bytes(DataParallel::ddp) == 16 * p);
  CHECK(bytes(DataParallel::zero1) == 7 * p);
  CHECK(bytes(DataParallel::zero2) == 5.5 * p);
  CHECK(bytes(DataParallel::zero3) == 4 * p);
  CHECK(bytes(DataParallel::fsdp2) == 4 * p);
}

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
  const EstimateInputs inputs = inputs_of(plan_of("t5-3b"), 8);
  const Formula& zero3 = form("deepspeed-zero3");
  REQUIRE(zero3.refusal(inputs).empty());
  CHECK(zero3.evaluate(inputs).bytes() / kGiB == Approx(6.098014).epsilon(1e-6));
  CHECK(form("deepspeed-zero2").evaluate(inputs).bytes() / kGiB == Approx(15.934547).epsilon(1e-6));
  CHECK(form("deepspeed-zero2-current").evaluate(inputs).bytes() / kGiB ==
        Approx(11.286971).epsilon(1e-6));
  CHECK(mentions(zero3.broken_assumptions(inputs), "the plan's data parallelism is ddp"));
  const std::vector<FormulaVariant> rows = zero3.variants(inputs);
  REQUIRE(rows.size() == 6);
  CHECK(rows[0].label == "offload_param=cpu, offload_optimizer=cpu, zero_init=1");
  CHECK(rows[0].host_bytes / kGiB == Approx(71.705463).epsilon(1e-6));
  CHECK(form("deepspeed-zero2").variants(inputs).size() == 2);

  TrainingPlan plan = plan_of("t5-3b");
  plan.parallel.offload = Offload::both;
  CHECK(zero3.evaluate(inputs_of(plan, 8)).bytes() == 4 * 32899072.0);
  CHECK_THAT(form("deepspeed-zero2").refusal(inputs_of(plan, 8)),
             Contains("only optimizer states"));
  plan.parallel.offload = Offload::params;
  CHECK_THAT(zero3.refusal(inputs_of(plan, 8)), Contains("only together"));
  plan.parallel.offload = Offload::optimizer;
  CHECK(form("deepspeed-zero2").evaluate(inputs_of(plan, 8)).bytes() == 2 * 2851598336.0);
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

TEST_CASE("estimates: Accelerate's phases", "[workloads][estimates]") {
  const auto full = accelerate_training(400, AccelerateDtype::float32);
  REQUIRE(full);
  CHECK(full->peak() == 1600);
  const auto half = accelerate_training(400, AccelerateDtype::bfloat16);
  REQUIRE(half);
  CHECK(half->gradients == 600);
  CHECK(half->peak() == 800);
  CHECK_FALSE(accelerate_training(400, AccelerateDtype::int8));
  CHECK_FALSE(accelerate_training(400, AccelerateDtype::int4));
  CHECK(accelerate_inference(400, AccelerateDtype::int4) == 50);
  CHECK(accelerate_training_old(400, AccelerateDtype::int8) == 400);

  TrainingPlan plan = plan_of("gpt2");
  plan.precision = Precision::fp32;
  plan.optimizer.master_weights = false;
  const double s = 4 * 124439808.0;
  CHECK(form("accelerate").evaluate(inputs_of(plan)).bytes() == 4 * s);
  plan.precision = Precision::amp_bf16;
  CHECK(form("accelerate").evaluate(inputs_of(plan)).bytes() == 2 * s);
  CHECK(form("accelerate").broken_assumptions(inputs_of(plan)).empty());
  CHECK(form("accelerate").evaluate(inputs_of(without_training(plan))).bytes() == s / 2);
}

TEST_CASE("estimates: the first row of NeMo's table, and the formulas it prints",
          "[workloads][estimates]") {
  const NemoRun run{.seq = 2048,
                    .batch = 2,
                    .hidden = 2048,
                    .heads = 16,
                    .layers = 24,
                    .vocab = 50257,
                    .tp = 1,
                    .dp = 8};
  CHECK(nemo_static(NemoVersion::table, 1.41e9, run).bytes() == 10'222'500'000.0);
  CHECK(nemo_activations(NemoVersion::table, run).bytes() == 8'163'442'688.0);
  CHECK(nemo_cross_entropy(run).bytes() == 823'410'688.0);
  CHECK(nemo_static(NemoVersion::printed, 1.41e9, run).bytes() / kGiB == Approx(6.894115));
  CHECK(nemo_activations(NemoVersion::printed, run).bytes() / kGiB == Approx(7.977798));
  // The difference is the two masks of one byte.
  CHECK(nemo_activations(NemoVersion::printed, run).bytes() -
            nemo_activations(NemoVersion::table, run).bytes() ==
        2.0 * 2048 * 2 * 2048 * 24);
  // 38.25 is what selective recomputation keeps on one GPU; the quadratic term is what it saves.
  CHECK(nemo_full_activations(run).bytes() - nemo_activations(NemoVersion::printed, run).bytes() ==
        5.0 * 16 * 2048 * 2048 * 2 * 24);
  NemoRun split = run;
  split.tp = 2;
  CHECK(nemo_cross_entropy(split).bytes() == 3 * 2048.0 * 2 * 50257);
  CHECK(nemo_static(NemoVersion::table, 1.41e9, split).bytes() == 10'222'500'000.0 / 2);
}

TEST_CASE("estimates: NeMo's buckets", "[workloads][estimates]") {
  CHECK(nemo_bucket(1.41e9, 24, 1) == 235e6);
  CHECK(nemo_layer_parameters(2048, 5440) == 50200576);
  CHECK(nemo_bucket(nemo_layer_parameters(2048, 5440), 1, 4) == 50200576);
  const NemoRun run{.hidden = 2048, .layers = 24, .vocab = 50257, .tp = 4, .dp = 2};
  CHECK(nemo_bucketed_static(1.41e9, run, 50e6) / 1e9 == Approx(11.968169).epsilon(1e-7));
}

TEST_CASE("estimates: NeMo's rows on NeMo's own model", "[workloads][estimates]") {
  TrainingPlan plan = plan_of("nemo-gpt-1b");
  plan.seq = {2048};
  plan.batch = 2;
  plan.parallel = {.dp = 8, .dp_kind = DataParallel::zero1};
  const EstimateInputs inputs = inputs_of(plan, 8);
  CHECK(form("nemo-table").broken_assumptions(inputs).empty());
  CHECK(form("nemo-table").evaluate(inputs).bytes() / kGiB == Approx(17.89).epsilon(1e-3));
  CHECK(form("nemo-printed").evaluate(inputs).bytes() / kGiB == Approx(15.64).epsilon(1e-3));
  plan.attention = Attention::eager;
  const Estimate kept = form("nemo-printed").evaluate(inputs_of(plan, 8));
  CHECK_THAT(kept.terms[3].equation, Contains("5 a s / h"));
  plan.parallel = {.pp = 2};
  CHECK_THAT(form("nemo-table").refusal(inputs_of(plan, 2)), Contains("pipeline"));
}

TEST_CASE("estimates: Korthikanti's table for GPT-3", "[workloads][estimates]") {
  using Recompute = KorthikantiRecompute;
  const auto layer = [](double tp, bool sp, Recompute recompute) {
    return korthikanti_layer(gpt3(tp, sp), recompute).bytes();
  };
  CHECK(layer(1, false, Recompute::none) == 2868903936.0);
  CHECK(layer(8, false, Recompute::none) == 578813952.0);
  CHECK(layer(8, true, Recompute::none) == 358612992.0);
  CHECK(layer(8, false, Recompute::selective) == 327155712.0);
  CHECK(layer(8, true, Recompute::selective) == 106954752.0);
  CHECK(layer(8, true, Recompute::full) == 50331648.0);
  CHECK(layer(8, true, Recompute::fused) == 106954752.0 + 4 * 96 * 2048 / 8);
  for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::fused}) {
    CHECK(layer(1, true, recompute) == layer(1, false, recompute));
  }
}

TEST_CASE("estimates: Korthikanti's first stage", "[workloads][estimates]") {
  KorthikantiRun run = gpt3(8, true);
  const double sbh = 2048.0 * 12288;
  const double layers = 96 * 34 * sbh / 8;
  CHECK(korthikanti(run, KorthikantiRecompute::selective).bytes() ==
        layers + sbh / 8 + 4 * sbh / 8 + 4 * 2048.0 * 51200 / 8);
  run.pp = 8;  // the first stage holds p micro-batches of L / p layers, and no head
  CHECK(korthikanti(run, KorthikantiRecompute::selective).bytes() == layers + sbh * 8 / 8);
  run.chunks = 3;
  CHECK(korthikanti(run, KorthikantiRecompute::selective).bytes() ==
        Approx(layers * (1 + 7.0 / 24) + sbh));
}

TEST_CASE("estimates: Korthikanti's row takes the variant from the plan",
          "[workloads][estimates]") {
  TrainingPlan plan = plan_of("gpt2");
  const auto first = [&] { return form("korthikanti").evaluate(inputs_of(plan)).terms; };
  CHECK_THAT(first()[1].equation, Contains("4 a s b"));
  plan.attention = Attention::eager;
  CHECK_THAT(first()[1].equation, Contains("5 a s^2 b"));
  plan.checkpoint.kind = CheckpointKind::selective_attention;
  CHECK(first()[1].name == "embedding dropout");
  plan.checkpoint.kind = CheckpointKind::full;
  CHECK(first()[0].equation == "L 2 s b h");
  CHECK(form("korthikanti").broken_assumptions(inputs_of(plan)).empty());
  plan.checkpoint.kind = CheckpointKind::selective_op;
  CHECK_FALSE(form("korthikanti").refusal(inputs_of(plan)).empty());
  CHECK_FALSE(form("korthikanti").refusal(inputs_of(plan_of("t5-3b"))).empty());
}

TEST_CASE("estimates: Megatron-LM's report for GPT-3", "[workloads][estimates]") {
  const MegatronModel model{.hidden = 12288, .layers = 96, .ffn = 49152, .padded_vocab = 51200};
  MegatronJob job{.seq = 2048,
                  .batch = 1,
                  .tp = 8,
                  .pp = 8,
                  .dp = 4,
                  .microbatches = 8,
                  .distributed_optimizer = true};
  CHECK(megatron_block_parameters(model) == 173950918656.0);
  CHECK(megatron_parameters(model) == 174580064256.0);
  CHECK(megatron_shard_parameters(model, job) == 2796626304.0);
  CHECK(megatron_states(model, job).bytes() == 25169636736.0);
  CHECK(megatron_activations(model, job).bytes() == 10292838400.0);
  job.distributed_optimizer = false;
  CHECK(megatron_states(model, job).bytes() == 18 * 2796626304.0);
  job.microbatches = 2;  // a quarter of the pipeline is in flight
  CHECK(megatron_activations(model, job).bytes() == Approx(10292838400.0 / 4));
  job.chunks = 2;
  CHECK(megatron_activations(model, job).bytes() == Approx(10292838400.0 * (1 + 7.0 / 16)));
}

TEST_CASE("estimates: Megatron-LM's options", "[workloads][estimates]") {
  MegatronModel model{.hidden = 64, .layers = 2, .ffn = 256, .padded_vocab = 1024};
  MegatronJob job{.seq = 32, .batch = 2, .sequence_parallel = false};
  const double sbh = 32.0 * 2 * 64;
  CHECK(megatron_activations(model, job).bytes() ==
        Approx(1.05 * (sbh * 34 * 2 + 8 * 64 + sbh + 2 * (64 * 1024 + sbh))));
  job.sequence_parallel = true;
  CHECK(megatron_activations(model, job).bytes() ==
        Approx(sbh * 34 * 2 + 8 * 64 + sbh + 4 * sbh + 4 * 64 * 1024));
  const double block = 2 * (2 * 64 * 256 + 4 * 64 * 64 + 4 * 64) + 2 * 64;
  CHECK(megatron_block_parameters(model) == block);
  CHECK(megatron_shard_parameters(model, job) == block + 64 * 1024);
  model.untied = true;
  CHECK(megatron_shard_parameters(model, job) == block + 2 * 64 * 1024);
  job.pp = 2;
  CHECK(megatron_shard_parameters(model, job) == block / 2 + 64 * 1024);
  model.gated = true;
  model.rms_norm = true;
  model.kv_ratio = 0.25;
  CHECK(megatron_block_parameters(model) == 2 * (3 * 64 * 256 + 2 * 64 * 64 * 1.25 + 2 * 64) + 64);
  CHECK(megatron_padded_vocab(50257, 1) == 50304);
  CHECK(megatron_padded_vocab(50257, 8) == 51200);
}

TEST_CASE("estimates: Megatron-LM counts the parameters of models without biases",
          "[workloads][estimates]") {
  const EstimateInputs inputs = inputs_of(plan_of("llama-7b"));
  const Estimate estimate = form("megatron").evaluate(inputs);
  const double padding = 2 * 4096.0 * (megatron_padded_vocab(32000, 1) - 32000);
  CHECK(estimate.terms[0].bytes == 2 * (static_cast<double>(inputs.parameters()) + padding));
  CHECK(form("megatron").refusal(inputs_of(plan_of("t5-3b"))).find("encoder") != std::string::npos);
}

TEST_CASE("estimates: forms about training refuse a plan that computes only the forward pass",
          "[workloads][estimates]") {
  const EstimateInputs inputs = inputs_of(without_training(plan_of("gpt2")));
  for (const std::string_view name :
       {"zero-paper", "deepspeed-zero2", "deepspeed-zero3", "deepspeed-activations", "nemo-table",
        "korthikanti", "megatron"}) {
    CAPTURE(name);
    CHECK_THAT(form(name).refusal(inputs), Contains("only the forward pass"));
  }
  CHECK(form("accelerate").refusal(inputs).empty());
}
