#include "workloads/colossalai/placement_policy.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/colossalai/memory_monitor.hpp"

namespace highwater::dist {

namespace {

/// Param weight, gradient and both moments (HybridAdam.num_fp32_shards_per_param).
constexpr int kFp32Shards = 4;

class CudaPlacement : public PlacementPolicy {
 public:
  using PlacementPolicy::PlacementPolicy;

  void make_room(const ChunkDemand& /*demand*/) override {}
};

class CpuPlacement : public PlacementPolicy {
 public:
  using PlacementPolicy::PlacementPolicy;

  void make_room(const ChunkDemand& /*demand*/) override {
    for (Chunk* chunk : manager().movable_chunks()) {
      manager().evict(*chunk);
    }
  }
};

/// It records no order of operators, so that chunks leave in order of creation.
class ConstantPlacement : public PlacementPolicy {
 public:
  ConstantPlacement(ChunkManager& manager, std::int64_t limit)
      : PlacementPolicy(manager), limit_(limit) {}

  void make_room(const ChunkDemand& demand) override {
    evict_until(manager().movable_chunks(), demand.bytes - (limit_ - manager().accessed_bytes()));
  }

 private:
  std::int64_t limit_;
};

/// The first iteration measures what everything but chunks takes between two operators, and the
/// order in which chunks are used; later ones give chunks the rest.
class AutomaticPlacement : public PlacementPolicy {
 public:
  AutomaticPlacement(eager::Runtime& runtime, ChunkManager& manager, const Gemini& options)
      : PlacementPolicy(manager),
        monitor_(runtime),
        capacity_(static_cast<double>(runtime.gpu.total_memory.count())),
        options_(options) {}

  void begin_iteration() override { monitor_.reset_peak(); }

  void make_room(const ChunkDemand& demand) override {
    if (is_warmup_) {
      sample();
      order_.emplace_back(demand.chunks.begin(), demand.chunks.end());
    }
    const double other = is_warmup_ ? capacity_ * options_.warmup_other_share
                                    : static_cast<double>(others_.at(demand.operation));
    const double limit = capacity_ * (is_warmup_ ? 1 : options_.steady_share);
    const double available = limit - other - static_cast<double>(manager().device_bytes());
    const double missing = static_cast<double>(demand.bytes) - available;
    if (missing > 0) {
      evict_until(candidates(demand.operation), static_cast<std::int64_t>(std::ceil(missing)));
    }
  }

  void on_chunks_ready() override {
    if (is_warmup_) {
      chunk_bytes_ = manager().device_bytes();
    }
  }

  void end_iteration() override {
    if (std::exchange(is_warmup_, false)) {
      sample();
    }
  }

  std::int64_t take_margin() override {
    const double share = std::exchange(options_.margin_share, 0);
    const auto margin = capacity_ - static_cast<double>(highest_);
    return static_cast<std::int64_t>(std::ceil(margin * share / kFp32Shards));
  }

 private:
  // sample_overall_data: what the operator before took beside the chunks.
  void sample() {
    const std::int64_t peak = monitor_.peak();
    highest_ = std::max(highest_, peak);
    if (!order_.empty()) {
      others_.push_back(peak - chunk_bytes_);
    }
    monitor_.reset_peak();
  }

  // _sort_can_evict_chunks: those first that are used last.
  [[nodiscard]] std::vector<Chunk*> candidates(std::size_t operation) const {
    std::vector<Chunk*> result = manager().movable_chunks();
    if (!is_warmup_) {
      std::ranges::stable_sort(result, std::ranges::greater{},
                               [&](const Chunk* chunk) { return next_use(*chunk, operation); });
    }
    return result;
  }

  [[nodiscard]] std::size_t next_use(const Chunk& chunk, std::size_t operation) const {
    for (std::size_t i = operation + 1; i < order_.size(); ++i) {
      if (std::ranges::find(order_[i], &chunk) != order_[i].end()) {
        return i;
      }
    }
    return order_.size();
  }

  MemoryMonitor monitor_;
  double capacity_;
  Gemini options_;
  bool is_warmup_ = true;
  std::vector<std::vector<Chunk*>> order_;  ///< chunks that each operator uses
  std::vector<std::int64_t> others_;  ///< bytes of all but chunks after each operator got its own
  std::int64_t chunk_bytes_ = 0;
  std::int64_t highest_ = 0;
};

}  // namespace

void PlacementPolicy::evict_until(std::span<Chunk* const> candidates, std::int64_t bytes) {
  std::int64_t freed = 0;
  for (Chunk* chunk : candidates) {
    if (freed >= bytes) {
      return;
    }
    manager_.evict(*chunk);
    freed += chunk->bytes();
  }
  if (freed < bytes) {
    throw InputError("plan", "gemini-placement",
                     fmt::format("Colossal-AI stops with \"Adjust layout failed\": an operator's "
                                 "chunks need {} bytes more than the policy gives them",
                                 bytes - freed),
                     "give chunks more room (--gemini-const-mb, --gemini-warmup-ratio), or choose "
                     "--gemini-placement cpu");
  }
}

std::unique_ptr<PlacementPolicy> make_placement_policy(eager::Runtime& runtime,
                                                       ChunkManager& manager,
                                                       const Gemini& options) {
  switch (options.placement) {
    case GeminiPlacement::cuda:
      return std::make_unique<CudaPlacement>(manager);
    case GeminiPlacement::cpu:
      return std::make_unique<CpuPlacement>(manager);
    case GeminiPlacement::constant:
      return std::make_unique<ConstantPlacement>(manager, options.gathered_limit_mib << 20);
    case GeminiPlacement::automatic:
      break;
  }
  return std::make_unique<AutomaticPlacement>(runtime, manager, options);
}

}  // namespace highwater::dist
