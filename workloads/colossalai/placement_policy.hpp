// Which chunks leave the GPU before an operator gets its own.
// Source: colossalai/zero/gemini/{placement_policy,gemini_mgr}.py and
// memory_tracer/{memstats_collector,memory_stats}.py (Colossal-AI 0.3.0).
#pragma once

#include <memory>
#include <span>

#include "workloads/colossalai/chunk_manager.hpp"

namespace highwater::dist {

/// An operator is about to use chunks.
struct ChunkDemand {
  std::span<Chunk* const> chunks;
  std::int64_t bytes = 0;     ///< that gathering them adds to the GPU
  std::size_t operation = 0;  ///< its number in this iteration
};

class PlacementPolicy {
 public:
  explicit PlacementPolicy(ChunkManager& manager) : manager_(manager) {}

  PlacementPolicy(const PlacementPolicy&) = delete;
  PlacementPolicy& operator=(const PlacementPolicy&) = delete;
  virtual ~PlacementPolicy() = default;

  /// pre_iter and post_iter.
  virtual void begin_iteration() {}

  virtual void end_iteration() {}

  /// evict_tensors: makes room.
  virtual void make_room(const ChunkDemand& demand) = 0;

  /// record_model_data_volume: the operator has its chunks.
  virtual void on_chunks_ready() {}

  /// _maybe_move_fp32_params: bytes on the GPU that fp32 copies may take, called before each step.
  virtual std::int64_t take_margin() { return 0; }

 protected:
  [[nodiscard]] ChunkManager& manager() const { return manager_; }

  /// Evicts `candidates` in order until `bytes` are free.
  void evict_until(std::span<Chunk* const> candidates, std::int64_t bytes);

 private:
  ChunkManager& manager_;
};

/// `manager` must outlive the policy.
std::unique_ptr<PlacementPolicy> make_placement_policy(eager::Runtime& runtime,
                                                       ChunkManager& manager,
                                                       const Gemini& options);

}  // namespace highwater::dist
