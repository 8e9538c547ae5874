// A LLaMA of one layer in bf16, two sequences of 64 tokens: little beside its head and loss.
#pragma once

#include <cstdint>

#include "tests/support/recorded_releases.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::test {

inline TrainingPlan tiny_llama_plan(std::int64_t vocab) {
  LlamaConfig config;
  config.vocab_size = vocab;
  config.hidden_size = 64;
  config.intermediate_size = 128;
  config.num_hidden_layers = 1;
  config.num_attention_heads = 2;
  config.num_key_value_heads = 2;
  TrainingPlan plan;
  plan.versions = kRecordedReleases;
  plan.model = {.name = "tiny", .source = "a test", .config = config};
  plan.batch = 2;
  plan.seq = {64};
  plan.precision = Precision::bf16;
  return plan;
}

}  // namespace highwater::test
