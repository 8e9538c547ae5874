// Megatron-LM's theoretical memory report: values that it prints, and its options.
#include "workloads/estimates/forms/megatron.hpp"

#include <catch2/catch.hpp>

#include "tests/workloads/estimates/forms/estimated_plan.hpp"
#include "workloads/estimates/terms/estimate_inputs.hpp"

using namespace highwater;
using test::estimated_plan;
using test::form_named;
using test::inputs_of;

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
  const EstimateInputs inputs = inputs_of(estimated_plan("llama-7b"));
  const Estimate estimate = form_named("megatron").evaluate(inputs);
  const double padding = 2 * 4096.0 * (megatron_padded_vocab(32000, 1) - 32000);
  CHECK(estimate.terms[0].bytes == 2 * (static_cast<double>(inputs.parameters()) + padding));
  CHECK(form_named("megatron").refusal(inputs_of(estimated_plan("t5-3b"))).find("encoder") !=
        std::string::npos);
}
