// Small jobs of Megatron-Core for the tests of its parallelism, and what their traces say.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/recorded_releases.hpp"
#include "workloads/plan/attention.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/options/framework_profile.hpp"
#include "workloads/plan/parallelism.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/generate.hpp"

namespace highwater::testing {

inline constexpr std::int64_t kHidden = 256;
inline constexpr std::int64_t kFfn = 704;
inline constexpr std::int64_t kSeq = 256;
inline constexpr std::int64_t kBatch = 2;
inline constexpr std::int64_t kHeads = 8;
inline constexpr std::int64_t kKvHeads = 4;
inline constexpr std::int64_t kExperts = 8;

inline ModelSpec small_llama(std::int64_t layers = 2) {
  return {"llama", "test",
          LlamaConfig{.vocab_size = 1024,
                      .hidden_size = kHidden,
                      .intermediate_size = kFfn,
                      .num_hidden_layers = layers,
                      .num_attention_heads = kHeads,
                      .num_key_value_heads = kKvHeads}};
}

inline ModelSpec small_mixtral(std::int64_t layers = 2) {
  return {"mixtral", "test",
          MixtralConfig{.vocab_size = 1024,
                        .hidden_size = kHidden,
                        .intermediate_size = kFfn,
                        .num_hidden_layers = layers,
                        .num_attention_heads = kHeads,
                        .num_key_value_heads = kKvHeads,
                        .num_local_experts = kExperts}};
}

inline TrainingPlan megatron_plan(ModelSpec model, const Parallelism& parallel = {}) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  apply_framework(Framework::megatron, plan);
  plan.parallel = parallel;
  plan.model = std::move(model);
  plan.attention = Attention::sdpa_flash;
  plan.batch = kBatch;
  plan.seq = {kSeq};
  return plan;
}

/// Walks a trace: bytes alive, and the requests of each step with their sizes (frees negative).
struct Walk {
  std::vector<std::vector<std::int64_t>> steps;
  std::int64_t peak = 0;
  std::int64_t live = 0;

  explicit Walk(const RequestTrace& trace) {
    std::vector<std::int64_t> bytes;
    for (const Event& event : trace.events) {
      std::int64_t change = 0;
      if (event.kind == EventKind::step) {
        steps.emplace_back();
      } else if (event.kind == EventKind::alloc) {
        bytes.push_back(static_cast<std::int64_t>(event.value));
        change = bytes.back();
      } else if (event.kind == EventKind::free) {
        change = -bytes[event.allocation.index()];
      }
      live += change;
      peak = std::max(peak, live);
      if (change != 0 && !steps.empty()) {
        steps.back().push_back(change);
      }
    }
  }
};

inline std::int64_t peak_of(const TrainingPlan& plan) {
  return Walk(generate(plan)).peak;
}

/// Bytes alive when phase `wanted` of step `at` begins, of `category` or of all.
inline std::int64_t live_at(const TrainingPlan& plan, std::uint64_t at, std::string_view wanted,
                            std::optional<Category> category = std::nullopt) {
  const RequestTrace trace = generate(plan);
  std::vector<std::int64_t> bytes;
  std::int64_t live = 0;
  std::uint64_t step = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::step) {
      step = event.value + 1;
    } else if (event.kind == EventKind::phase && step == at + 1 &&
               trace.tables.strings[event.text()] == wanted) {
      break;
    } else if (event.kind == EventKind::alloc) {
      const bool counts = !category || event.category == *category;
      bytes.push_back(counts ? static_cast<std::int64_t>(event.value) : 0);
      live += bytes.back();
    } else if (event.kind == EventKind::free) {
      live -= bytes[event.allocation.index()];
    }
  }
  return live;
}

/// Bytes of parameters, gradients and optimizer states after all steps.
inline std::int64_t states_of(const TrainingPlan& plan) {
  std::int64_t sum = 0;
  for (const Category category :
       {Category::parameter, Category::gradient, Category::optimizer_state}) {
    sum += live_at(plan, static_cast<std::uint64_t>(plan.steps), "none", category);
  }
  return sum;
}

}  // namespace highwater::testing
