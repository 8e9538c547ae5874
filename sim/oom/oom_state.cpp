#include "sim/oom/oom_state.hpp"

#include <boost/unordered/unordered_flat_map.hpp>

#include "sim/replay/state_observer.hpp"

namespace highwater {
namespace {

/// The allocation behind each handle, of those that are live.
boost::unordered_flat_map<std::uint32_t, AllocationId> owners_of(const RequestTrace& trace,
                                                                 const TraceDriver& driver) {
  boost::unordered_flat_map<std::uint32_t, AllocationId> owners;
  for (std::size_t i = 0; i < trace.allocation_count; ++i) {
    const AllocationId id{static_cast<std::uint32_t>(i)};
    if (const BlockId block = driver.handle(id); block.has_value()) {
      owners[block.value()] = id;
    }
  }
  return owners;
}

class FirstFailure : public StateObserver {
 public:
  explicit FirstFailure(const RequestTrace& trace) : trace_(&trace) {}

  void on_begin(const CachingAllocator& /*allocator*/, const TraceDriver& /*driver*/) override {}

  void on_state(const Event& event, AllocationStatus status, const CachingAllocator& allocator,
                const TraceDriver& driver) override {
    if (event.kind == EventKind::step) {
      step_ = event.value;
    } else if (event.kind == EventKind::phase) {
      phase_ = trace_->tables.strings[event.text()];
    }
    if (status == AllocationStatus::out_of_memory && !found_) {
      take(event, allocator, driver);
    }
    ++event_;
  }

  [[nodiscard]] std::optional<OomState> take_found() { return std::move(found_); }

 private:
  void take(const Event& event, const CachingAllocator& allocator, const TraceDriver& driver) {
    OomState state;
    state.event = event_;
    state.operation = driver.operations() - 1;
    state.stack = event.stack;
    state.step = step_;
    state.phase = phase_;
    state.account = allocator.last_out_of_memory();
    state.map = allocator.memory_map();
    list_held(driver, state);
    found_ = std::move(state);
  }

  void list_held(const TraceDriver& driver, OomState& state) {
    const auto owners = owners_of(*trace_, driver);
    const std::vector<StackId> stacks = stacks_until(state.event);
    for (std::size_t s = 0; s < state.map.segments.size(); ++s) {
      const std::vector<MapBlock>& blocks = state.map.segments[s].blocks;
      for (std::size_t b = 0; b < blocks.size(); ++b) {
        const auto owner = owners.find(blocks[b].handle.value());
        if (blocks[b].state == BlockState::active_allocated && owner != owners.end()) {
          state.held.push_back({.allocation = owner->second,
                                .stack = stacks[owner->second.index()],
                                .size = blocks[b].size,
                                .segment = s,
                                .block = b});
        }
      }
    }
  }

  /// By AllocationId: who asked for it.
  [[nodiscard]] std::vector<StackId> stacks_until(std::size_t last) const {
    std::vector<StackId> stacks(trace_->allocation_count);
    for (std::size_t i = 0; i < last; ++i) {
      const Event& event = trace_->events[i];
      if (event.kind == EventKind::alloc) {
        stacks[event.allocation.index()] = event.stack;
      }
    }
    return stacks;
  }

  const RequestTrace* trace_;
  std::size_t event_ = 0;
  std::optional<std::uint64_t> step_;
  std::string phase_;
  std::optional<OomState> found_;
};

}  // namespace

std::optional<OomState> first_out_of_memory(const RequestTrace& trace,
                                            const ReplayOptions& options) {
  ReplayOptions until = options;
  until.after_oom = AfterOom::stop;
  until.decisions = DecisionDetail::none;
  FirstFailure failure(trace);
  replay_watched(trace, until, failure);
  return failure.take_found();
}

}  // namespace highwater
