// Small models, and a trace as a list of blocks: what tests of distributed runs look at.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/step_requests.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/training/generate.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::distributed_runs {

inline ModelSpec small_gpt2() {
  Gpt2Config config;
  config.vocab_size = 512;
  config.n_embd = 128;
  config.n_head = 4;
  config.n_layer = 2;
  config.n_positions = 256;
  return {"small-gpt2", "test", config};
}

inline ModelSpec small_llama() {
  LlamaConfig config;
  config.vocab_size = 512;
  config.hidden_size = 128;
  config.intermediate_size = 256;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  return {"small-llama", "test", config};
}

/// An allocation of a trace, and when it was freed.
struct TraceBlock {
  std::int64_t bytes = 0;
  Category category = Category::unknown;
  std::uint64_t born_in = 0;  ///< step + 1; 0: before the first
  std::string phase;
  bool is_freed = false;
  std::uint64_t freed_in = 0;

  bool operator==(const TraceBlock&) const = default;
};

inline std::vector<TraceBlock> blocks_of(const TrainingPlan& plan) {
  const RequestTrace trace = generate(plan);
  std::vector<TraceBlock> blocks;
  std::uint64_t step = 0;
  std::string phase;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::step) {
      step = event.value + 1;
    } else if (event.kind == EventKind::phase) {
      phase = trace.tables.strings[event.text()];
    } else if (event.kind == EventKind::alloc) {
      blocks.push_back(
          {static_cast<std::int64_t>(event.value), event.category, step, phase, false, 0});
    } else if (event.kind == EventKind::free) {
      blocks[event.allocation.index()].is_freed = true;
      blocks[event.allocation.index()].freed_in = step;
    }
  }
  return blocks;
}

inline std::int64_t bytes_of(const std::vector<TraceBlock>& blocks, Category category) {
  std::int64_t bytes = 0;
  for (const TraceBlock& block : blocks) {
    bytes += block.category == category && !block.is_freed ? block.bytes : 0;
  }
  return bytes;
}

}  // namespace highwater::distributed_runs
