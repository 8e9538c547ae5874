// The rules of a plan: what PyTorch refuses is refused, with a remedy, and all of it at once.
#include "workloads/plan/training_plan.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/options/option_table.hpp"
#include "workloads/plan/rules/plan_problems.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

TrainingPlan plan_of(std::string_view model) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.model = model_preset(model);
  plan.seq = {128};
  if (!supports_sdpa(plan)) {
    plan.attention = Attention::eager;
  }
  return plan;
}

/// Empty where the problem is a sentence of another kind.
std::string subject_of(const std::string& problem) {
  const std::size_t end = problem.find(": ");
  return end == std::string::npos ? "" : problem.substr(0, end);
}

/// The words of a subject that are names of options; the next word is the value, if there is one.
std::vector<std::string> options_in(const std::string& subject) {
  std::istringstream words(subject);
  std::vector<std::string> found;
  bool is_value = false;
  for (std::string word; words >> word;) {
    const bool ends = word.ends_with(',');
    word.erase(std::ranges::remove(word, ',').begin(), word.end());
    const auto names = plan_option_names();
    const bool is_option = !is_value && std::ranges::find(names, word) != names.end();
    if (is_option) {
      found.push_back(word);
    }
    is_value = is_option && !ends;
  }
  return found;
}

std::vector<std::string> problems_and_gaps(const TrainingPlan& plan) {
  std::vector<std::string> all = plan_problems(plan);
  if (all.empty()) {
    all = generator_gaps(plan);
  }
  return all;
}

struct Refusal {
  std::string_view model;
  std::function<void(TrainingPlan&)> change;
  std::string_view message;
};

std::vector<Refusal> refusals() {
  using Plan = TrainingPlan&;
  return {
      {"gpt2", [](Plan p) { p.batch = 0; }, "batch 0: at least one sequence"},
      {"gpt2", [](Plan p) { p.versions.transformers = "4.28"; },
       "transformers: releases before 4.29 are not modelled"},
      {"gpt2", [](Plan p) { p.steps = 1'000'000; }, "exceed 50 million requests"},
      {"gpt2", [](Plan p) { p.seq = {}; }, "seq: every length must be at least 1"},
      {"gpt2",
       [](Plan p) {
         p.seq = {128, 0};
       },
       "seq: every length must be at least 1"},
      {"gpt2", [](Plan p) { p.steps = 0; }, "steps 0"},
      {"gpt2", [](Plan p) { p.grad_accum = 0; }, "grad-accum 0"},
      {"gpt2", [](Plan p) { p.parallel = {.dp = 2, .ddp = {.bucket_cap_mb = 0}}; },
       "bucket-cap-mb"},
      {"gpt2", [](Plan p) { p.parallel.event_lag = -1; }, "event-lag"},
      {"gpt2", [](Plan p) { p.parallel.ddp.bucket_view = true; }, "DistributedDataParallel"},
      {"gpt2", [](Plan p) { p.parallel.no_sync = true; },
       "a single rank has nothing to "
       "synchronize"},
      {"gpt2",
       [](Plan p) {
         p.parallel.dp = 2;
         p.optimizer.in_backward = true;
       },
       "before its gradient is summed"},
      {"gpt2",
       [](Plan p) {
         p.parallel = {.dp = 2, .ddp = {.static_graph = true}, .no_sync = true};
         p.grad_accum = 2;
       },
       "cannot learn the graph"},
      {"gpt2", [](Plan p) { p.parallel.fsdp.forward_prefetch = true; }, "only FSDP has this"},
      {"gpt2",
       [](Plan p) {
         p.parallel = {.dp = 8, .dp_kind = DataParallel::fsdp1};
         p.parallel.fsdp.strategy = ShardingStrategy::hybrid_shard;
       },
       "set dp-replicate above 1"},
      {"gpt2",
       [](Plan p) {
         p.parallel = {.dp = 8, .dp_kind = DataParallel::fsdp1};
         p.parallel.fsdp.replicas = 2;
       },
       "only hybrid_shard keeps replicas"},
      {"gpt2",
       [](Plan p) {
         p.parallel = {.dp = 8, .dp_kind = DataParallel::fsdp1};
         p.parallel.fsdp.use_orig_params = false;
         p.lora.rank = 4;
       },
       "trained as a whole or not at all"},
      {"gpt2",
       [](Plan p) {
         p.parallel = {.dp = 8, .dp_kind = DataParallel::fsdp1};
         p.precision = Precision::bf16;
         p.lora.rank = 4;
       },
       "a flat parameter has one dtype"},
      {"gpt2",
       [](Plan p) {
         p.parallel = {.dp = 8, .dp_kind = DataParallel::fsdp1};
         p.init = ModelInit::meta;
       },
       "reset_parameters"},
      {"gpt2",
       [](Plan p) {
         p.loss.kind = LossKind::trl;
         p.seq = {512, 1};
       },
       "predicted by none"},
      {"gpt2",
       [](Plan p) {
         p.parallel = {.dp = 8, .dp_kind = DataParallel::fsdp1};
         p.init = ModelInit::pretrained;
       },
       "brings a whole model"},
      {"gpt2", [](Plan p) { p.optimizer.param_groups = 3; }, "param-groups"},
      {"gpt2", [](Plan p) { p.dropout = 1.5; }, "dropout"},
      {"gpt2", [](Plan p) { p.grad_clip = 0.0; }, "grad-clip"},
      {"gpt2", [](Plan p) { p.lora.rank = -1; }, "lora: the rank"},
      {"gpt2",
       [](Plan p) {
         p.checkpoint = {CheckpointKind::every_n, 0, false};
       },
       "every-N"},
      {"gpt2", [](Plan p) { p.versions.torch = "1.13"; },
       "torch: releases before 2.0 are not modelled"},
      {"gpt2",
       [](Plan p) {
         p.seq = {128, 1025};
       },
       "seq 1025: gpt2 has learned embeddings for 1024 positions, and PyTorch fails beyond them; "
       "use at most 1024"},
      {"opt-125m", [](Plan p) { p.seq = {2049}; }, "learned embeddings for 2048 positions"},
      {"gpt2", [](Plan p) { p.model_code = ModelCode::torchtitan; }, "has no gpt2 model"},
      {"gpt2", [](Plan p) { p.model_code = ModelCode::torchtune; }, "gpt2 is of family gpt2"},
      {"qwen3-0.6b", [](Plan p) { p.model_code = ModelCode::torchtune; }, "is of family qwen3"},
      {"llama-2-7b",
       [](Plan p) {
         p.model_code = ModelCode::torchtune;
         p.seq = {4097};
       },
       "torchtune's table for llama-2-7b has 4096 positions"},
      {"llama-2-7b",
       [](Plan p) {
         p.model_code = ModelCode::torchtune;
         p.attention = Attention::eager;
       },
       "runs PyTorch's own attention"},
      {"llama-2-7b",
       [](Plan p) {
         p.model_code = ModelCode::torchtune;
         p.attention_mask = AttentionMask::full;
       },
       "unless sequences are packed"},
      {"llama-2-7b",
       [](Plan p) {
         p.framework = Framework::torchtune;
         p.precision = Precision::amp_bf16;
       },
       "torchtune's recipes train in bf16 or fp32"},
      {"llama-2-7b",
       [](Plan p) {
         p.framework = Framework::torchtune;
         p.parallel.dp = 2;
       },
       "torchtune's recipes shard by fully_shard"},
      {"llama-2-7b",
       [](Plan p) {
         p.model_code = ModelCode::torchtune;
         p.lora.rank = 8;
         p.quantization.weights = WeightFormat::int8;
       },
       "quantize_base is torchao's NF4"},
      {"llama-3.2-1b",
       [](Plan p) {
         p.versions.torch = "2.7";
         p.precision = Precision::bf16;
         p.lora.rank = 8;
         p.parallel.dp = 2;
         p.parallel.dp_kind = DataParallel::fsdp2;
       },
       "before PyTorch 2.8 fully_shard needs one dtype"},
      {"gpt2", [](Plan p) { p.experts = Experts::even; }, "not a mixture of experts"},
      {"gpt2", [](Plan p) { p.moe_load.busiest = 2; }, "moe-load: gpt2 is not a mixture"},
      {"mixtral-8x7b", [](Plan p) { p.moe_load.busiest = 9; }, "use at most busiest:8"},
      {"mixtral-8x7b",
       [](Plan p) {
         p.moe_load.shares = {1, 2};
       },
       "has 8 experts, but the file has the shares of 2"},
      {"mixtral-8x7b",
       [](Plan p) {
         p.experts = Experts::even;
         p.moe_load.busiest = 2;
       },
       "gives every expert the same number of tokens"},
      {"llama-3-8b",
       [](Plan p) {
         p.batch = 1'000'000;
         p.seq = {1'000'000};
       },
       "exceed 4 PiB"},
      {"bloom-560m", [](Plan p) { p.attention = Attention::sdpa; },
       "only eager attention for bloom"},
      {"gpt2", [](Plan p) { p.attention = Attention::sdpa_flash; }, "only bf16 and fp16"},
      {"gpt2", [](Plan p) { p.attention = Attention::sdpa_cudnn; }, "only bf16 and fp16"},
      {"gemma-2b",
       [](Plan p) {
         p.attention = Attention::sdpa_cudnn;
         p.precision = Precision::bf16;
         p.gpu = *find_gpu("h100-80");
       },
       "a head dimension of 256 is too large for the kernel (at most 128; "},
      {"gpt2",
       [](Plan p) {
         p.attention = Attention::sdpa_flash;
         p.precision = Precision::fp16;
         p.gpu = *find_gpu("v100-16");
       },
       "needs compute capability 8.0, but v100-16 has 7.0"},
      {"gpt2",
       [](Plan p) {
         p.attention = Attention::sdpa_flash;
         p.precision = Precision::bf16;
         p.gpu = *find_gpu("b200");
       },
       "PyTorch builds this kernel for b200 since 2.7"},
      {"gpt2",
       [](Plan p) {
         p.attention = Attention::sdpa_flash;
         p.precision = Precision::bf16;
         p.model.config.as<Gpt2Config>().n_embd = 800;
         p.model.config.as<Gpt2Config>().n_head = 4;
         p.gpu = *find_gpu("rtx4090");
       },
       "no backward pass of the kernel for a head dimension of 200 on rtx4090"},
      {"gpt2",
       [](Plan p) {
         p.attention = Attention::sdpa_efficient;
         p.precision = Precision::amp_bf16;
         p.gpu = *find_gpu("v100-16");
       },
       "bf16 needs compute capability 8.0"},
      {"gpt2", [](Plan p) { p.checkpoint.reentrant = true; }, "nothing is checkpointed"},
      {"gpt2",
       [](Plan p) {
         p.checkpoint = {CheckpointKind::selective_op, 1, true};
       },
       "only the nonreentrant implementation"},
      {"gpt2",
       [](Plan p) {
         p.optimizer = {OptimizerKind::adafactor, OptimizerImpl::fused};
       },
       "fused CUDA kernels only for adam, adamw and sgd"},
      {"gpt2",
       [](Plan p) {
         p.optimizer = {OptimizerKind::adagrad, OptimizerImpl::fused};
       },
       "fused CUDA kernels"},
      {"gpt2",
       [](Plan p) {
         p.optimizer = {OptimizerKind::rmsprop, OptimizerImpl::fused};
       },
       "fused CUDA kernels"},
      {"gpt2",
       [](Plan p) {
         p.optimizer = {OptimizerKind::adamw_8bit, OptimizerImpl::foreach};
       },
       "one implementation"},
      {"gpt2",
       [](Plan p) {
         p.optimizer = {OptimizerKind::muon, OptimizerImpl::foreach};
         p.versions.torch = "2.15";
       },
       "one implementation"},
      {"gpt2",
       [](Plan p) {
         p.optimizer.kind = OptimizerKind::muon;
         p.optimizer.in_backward = true;
         p.versions.torch = "2.15";
       },
       "stands for two optimizers"},
      {"gpt2",
       [](Plan p) {
         p.optimizer.kind = OptimizerKind::galore_adamw;
         p.optimizer.master_weights = true;
         p.precision = Precision::bf16;
       },
       "the model's own parameters"},
      {"gpt2",
       [](Plan p) {
         p.optimizer.kind = OptimizerKind::muon;
         p.versions.torch = "2.8";
       },
       "since 2.9"},
      {"gpt2",
       [](Plan p) {
         p.optimizer.kind = OptimizerKind::lomo;
         p.optimizer.in_backward = true;
       },
       "hooks into the model's own parameters"},
      {"gpt2",
       [](Plan p) {
         p.optimizer.kind = OptimizerKind::adalomo;
         p.parallel.dp = 2;
       },
       "before its gradient is summed"},
      {"gpt2",
       [](Plan p) {
         p.optimizer.kind = OptimizerKind::lomo;
         p.precision = Precision::amp_fp16;
       },
       "GradScaler unscales only after"},
      {"gpt2",
       [](Plan p) {
         p.optimizer.kind = OptimizerKind::sgd_8bit;
         p.precision = Precision::bf16;
       },
       "no kernels for bf16 gradients"},
      {"gpt2",
       [](Plan p) {
         p.optimizer = {OptimizerKind::sgd, OptimizerImpl::fused};
         p.versions.torch = "2.2";
       },
       "since 2.3"},
      {"gpt2",
       [](Plan p) {
         p.optimizer.kind = OptimizerKind::adafactor;
         p.versions.torch = "2.4";
       },
       "since 2.5"},
      {"gpt2", [](Plan p) { p.optimizer.master_weights = true; }, "already fp32"},
      {"gpt2",
       [](Plan p) {
         p.optimizer.kind = OptimizerKind::none;
         p.optimizer.in_backward = true;
       },
       "there is no optimizer"},
      {"gpt2",
       [](Plan p) {
         p.optimizer.in_backward = true;
         p.grad_clip = 1.0;
       },
       "optimizer-in-backward with grad-clip"},
      {"gpt2",
       [](Plan p) {
         p.optimizer.in_backward = true;
         p.grad_accum = 2;
       },
       "optimizer-in-backward with grad-accum 2"},
      {"gpt2",
       [](Plan p) {
         p.optimizer.in_backward = true;
         p.precision = Precision::amp_fp16;
       },
       "GradScaler"},
      {"gpt2",
       [](Plan p) {
         p.training = false;
         p.grad_clip = 1.0;
       },
       "mode eval"},
      {"gpt2",
       [](Plan p) {
         p.loss.kind = LossKind::fused;
         p.keep_logits = true;
       },
       "never produces logits"},
      {"gpt2", [](Plan p) { p.lora.dropout = 0.1; }, "LoRA is not enabled"},
      {"gpt2",
       [](Plan p) {
         p.lora.rank = 8;
         p.optimizer.param_groups = 2;
       },
       "second group would be empty"},
  };
}

}  // namespace

TEST_CASE("plan: every model trains with nothing but its name and short sequences", "[plan]") {
  for (const ModelSpec& model : model_presets()) {
    CAPTURE(model.name);
    CHECK(plan_problems(plan_of(model.name)) == std::vector<std::string>{});
  }
}

TEST_CASE("plan: each refused combination is named with what to do instead", "[plan]") {
  for (const Refusal& refusal : refusals()) {
    TrainingPlan plan = plan_of(refusal.model);
    refusal.change(plan);
    CAPTURE(refusal.message);
    const auto problems = plan_problems(plan);
    REQUIRE(problems.size() == 1);
    CHECK_THAT(problems.front(), Contains(std::string(refusal.message)));
    CHECK(problems.front().find('{') == std::string::npos);
  }
}

// A plan as the structs have it, before a framework or a user says anything.
TEST_CASE("plan: a refusal names only options that the plan has changed", "[plan][refusals]") {
  for (const Refusal& refusal : refusals()) {
    TrainingPlan plan = plan_of(refusal.model);
    const TrainingPlan before = plan;
    refusal.change(plan);
    for (const std::string& problem : problems_and_gaps(plan)) {
      for (const std::string& option : options_in(subject_of(problem))) {
        CAPTURE(problem, option);
        CHECK(option_called(option).text(plan) != option_called(option).text(before));
      }
    }
  }
}

TEST_CASE("plan: of what is wrong with one option, one sentence", "[plan][refusals]") {
  for (const Refusal& refusal : refusals()) {
    TrainingPlan plan = plan_of(refusal.model);
    refusal.change(plan);
    for (const auto& problems : {plan_problems(plan), generator_gaps(plan)}) {
      std::set<std::string> subjects;
      for (const std::string& problem : problems) {
        CAPTURE(problem);
        CHECK(subjects.insert(problem.substr(0, problem.find_first_of(" :,"))).second);
      }
    }
  }
}

TEST_CASE("plan: the borders of the rules lie where PyTorch has them", "[plan]") {
  const auto is_fine = [](std::string_view model,
                          const std::function<void(TrainingPlan&)>& change) {
    TrainingPlan plan = plan_of(model);
    change(plan);
    const auto problems = plan_problems(plan);
    CAPTURE(problems);
    return problems.empty();
  };
  CHECK(is_fine("gpt2", [](TrainingPlan& p) { p.seq = {1024}; }));
  CHECK(is_fine("llama-3-8b", [](TrainingPlan& p) { p.seq = {1'000'000}; }));  // rotary: no table
  CHECK(is_fine("llama-3.1-405b", [](TrainingPlan& p) { p.seq = {131072}; }));
  CHECK(is_fine("gpt2", [](TrainingPlan& p) {
    p.checkpoint = {CheckpointKind::every_n, 12, false};
  }));
  CHECK(is_fine("gpt2", [](TrainingPlan& p) {
    p.attention = Attention::sdpa_flash;
    p.precision = Precision::amp_bf16;  // autocast casts queries, keys and values
  }));
  CHECK(is_fine("gpt2", [](TrainingPlan& p) {
    p.framework =
        Framework::trainer;  // whose max_grad_norm is 1 with an optimizer layer by layer, too
    p.optimizer.in_backward = true;
    p.grad_clip = 1.0;
  }));
  CHECK(is_fine("llama-3-8b", [](TrainingPlan& p) { p.model_code = ModelCode::torchtitan; }));
  CHECK(is_fine("llama-3.2-1b", [](TrainingPlan& p) { p.model_code = ModelCode::torchtune; }));
  for (const OptimizerKind kind : {OptimizerKind::sgd, OptimizerKind::sgd_momentum,
                                   OptimizerKind::adam, OptimizerKind::adamw}) {
    CHECK(is_fine("gpt2", [&](TrainingPlan& p) { p.optimizer = {kind, OptimizerImpl::fused}; }));
  }
}

TEST_CASE("plan: all problems come at once, the model's own included", "[plan]") {
  TrainingPlan plan = plan_of("gpt2");
  plan.model.config.as<Gpt2Config>().n_head = 7;
  plan.batch = 0;
  plan.optimizer = {OptimizerKind::rmsprop, OptimizerImpl::fused};
  plan.attention = Attention::sdpa_flash;
  const auto problems = plan_problems(plan);
  CHECK(problems.size() == 4);
  CHECK(problems == plan_problems(plan));
}

TEST_CASE("plan: cuDNN's attention has heads of 256 on Hopper since 2.15", "[plan]") {
  TrainingPlan plan = plan_of("gemma-2b");
  plan.attention = Attention::sdpa_cudnn;
  plan.precision = Precision::bf16;
  plan.versions.torch = "2.15";
  plan.gpu = *find_gpu("a100-80");
  CHECK(plan_problems(plan).size() == 1);
  plan.gpu = *find_gpu("h100-80");
  CHECK(plan_problems(plan).empty());
}

TEST_CASE("plan: padded batches of models with an encoder are left to PyTorch", "[plan]") {
  const auto gaps_of = [](std::string_view model) {
    TrainingPlan plan = plan_of(model);
    plan.attention_mask = AttentionMask::padded;
    CHECK(plan_problems(plan).empty());
    return generator_gaps(plan);
  };
  for (const char* model : {"bert-base", "t5-small"}) {
    CAPTURE(model);
    REQUIRE(gaps_of(model).size() == 1);
    CHECK_THAT(gaps_of(model).front(), Contains("attention-mask padded") && Contains("torch"));
  }
  CHECK(gaps_of("gpt2").empty());
}

TEST_CASE("plan: labels have another length where a decoder reads them", "[plan]") {
  TrainingPlan plan = plan_of("t5-small");
  plan.target_seq = 128;
  CHECK(plan_problems(plan).empty());
  plan.loss.kind = LossKind::flat;
  REQUIRE(plan_problems(plan).size() == 1);
  CHECK_THAT(plan_problems(plan).front(), Contains("target-seq with loss flat"));
  TrainingPlan decoder = plan_of("gpt2");
  decoder.target_seq = 128;
  REQUIRE(plan_problems(decoder).size() == 1);
  CHECK_THAT(plan_problems(decoder).front(), Contains("target-seq 128: gpt2 has no decoder"));
}

TEST_CASE("plan: evaluation is Trainer's or a plain loop's, of a whole model", "[plan]") {
  TrainingPlan plan = plan_of("gpt2");
  plan.evaluation.batches = 4;
  REQUIRE(plan_problems(plan).size() == 1);
  CHECK_THAT(plan_problems(plan).front(), Contains("eval-batches: nothing is evaluated"));
  plan.evaluation.batch = 8;
  CHECK(plan_problems(plan).empty());
  CHECK(generator_gaps(plan).empty());
  plan.evaluation.outputs = EvalOutputs::logits;
  REQUIRE(plan_problems(plan).size() == 1);
  CHECK_THAT(plan_problems(plan).front(), Contains("eval-outputs with framework"));
  plan.framework = Framework::trainer;
  CHECK(plan_problems(plan).empty());
  CHECK(generator_gaps(plan).empty());
  plan.parallel.dp = 4;
  CHECK(generator_gaps(plan).empty());
  plan.parallel.dp_kind = DataParallel::fsdp2;
  REQUIRE(generator_gaps(plan).size() == 1);
  CHECK_THAT(generator_gaps(plan).front(), Contains("eval-batch with dp-kind fsdp2"));
}

TEST_CASE("plan: runs that are shorter than the way to an evaluation have one", "[plan]") {
  const auto after = [](const Evaluation& evaluation, int steps) {
    std::vector<int> found;
    for (int step = 0; step < steps; ++step) {
      if (evaluates_after(evaluation, {.step = step, .steps = steps})) {
        found.push_back(step);
      }
    }
    return found;
  };
  CHECK(after({.batch = 1, .every = 2}, 5) == std::vector{1, 3});
  CHECK(after({.batch = 1, .every = 4}, 3) == std::vector{2});
  CHECK(after({.batch = 0, .every = 1}, 3).empty());
}

TEST_CASE("plan: smoothed labels are Trainer's loss", "[plan]") {
  TrainingPlan plan = plan_of("gpt2");
  plan.loss.smoothing = 0.1;
  REQUIRE(plan_problems(plan).size() == 1);
  CHECK_THAT(plan_problems(plan).front(), Contains("label-smoothing with framework"));
  plan.framework = Framework::trainer;
  CHECK(plan_problems(plan).empty());
}

TEST_CASE("plan: an average of the model is not made of shards", "[plan]") {
  TrainingPlan plan = plan_of("gpt2");
  plan.ema = true;
  plan.parallel.dp = 4;
  CHECK(generator_gaps(plan).empty());
  plan.parallel.dp_kind = DataParallel::fsdp2;
  REQUIRE(generator_gaps(plan).size() == 1);
  CHECK_THAT(generator_gaps(plan).front(), Contains("ema with dp-kind fsdp2"));
}

TEST_CASE("plan: what the simulation lacks of LOMO and Megatron's Muon is named", "[plan]") {
  TrainingPlan adapters = plan_of("gpt2");
  adapters.optimizer.kind = OptimizerKind::adalomo;
  adapters.lora.rank = 8;
  REQUIRE(generator_gaps(adapters).size() == 1);
  CHECK_THAT(generator_gaps(adapters).front(), Contains("adalomo with lora"));
  adapters.optimizer.kind = OptimizerKind::lomo;
  CHECK(generator_gaps(adapters).empty());
  TrainingPlan split = plan_of("llama-3.2-1b");
  split.model_code = ModelCode::megatron;
  split.optimizer.kind = OptimizerKind::muon;
  split.parallel.tp = 2;
  split.parallel.pp = 2;
  CHECK(generator_gaps(split).empty());
  split.parallel.schedule = PipelineSchedule::interleaved;
  split.parallel.chunks = 2;
  split.parallel.dp_kind = DataParallel::zero1;
  REQUIRE(generator_gaps(split).size() == 1);
  CHECK_THAT(generator_gaps(split).front(), Contains("pp-schedule interleaved"));
  split.parallel.chunks = 1;
  CHECK(generator_gaps(split).empty());
  split.framework = Framework::nemo;
  REQUIRE(generator_gaps(split).size() == 1);
  CHECK_THAT(generator_gaps(split).front(), Contains("muon with framework nemo"));
}

TEST_CASE("plan: sequence lengths are used in turn", "[plan]") {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.seq = {16, 12, 20};
  for (std::int64_t i = 0; i < 9; ++i) {
    CHECK(sequence_length(plan, i) == plan.seq[static_cast<std::size_t>(i % 3)]);
  }
}
