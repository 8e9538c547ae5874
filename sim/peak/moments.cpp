#include "sim/peak/moments.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "sim/peak/block_owners.hpp"
#include "sim/replay/usage_tracker.hpp"

namespace highwater {
namespace {

constexpr std::size_t index(MomentKind kind) {
  return static_cast<std::size_t>(kind);
}

/// Free bytes in segments that are in use; not below 0 where corrections by a recording have
/// disturbed the statistics.
Bytes fragments(const Statistics& statistics) {
  const std::int64_t split = statistics.current(Stat::inactive_split_bytes);
  return Bytes{static_cast<std::uint64_t>(std::max<std::int64_t>(split, 0))};
}

class PeakWatcher : public StateObserver {
 public:
  void on_begin(const CachingAllocator& allocator, const TraceDriver& /*driver*/) override {
    finder_.begin(allocator.statistics());
  }

  void on_state(const Event& event, AllocationStatus status, const CachingAllocator& allocator,
                const TraceDriver& driver) override {
    finder_.follow(event, status, allocator.statistics(), driver.operations());
  }

  [[nodiscard]] Moment peak() const { return *finder_.find(MomentKind::peak_reserved); }

 private:
  MomentFinder finder_;
};

class StateTaker : public StateObserver {
 public:
  StateTaker(const std::vector<Moment>& moments, std::size_t allocations)
      : moments_(&moments), allocations_(allocations) {}

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override {
    owners_.begin(driver, allocations_);
    take_if_wanted(allocator);
  }

  void on_state(const Event& event, AllocationStatus /*status*/, const CachingAllocator& allocator,
                const TraceDriver& driver) override {
    owners_.follow(event, driver);
    ++state_;
    take_if_wanted(allocator);
  }

  std::vector<MemoryState> take() { return std::move(taken_); }

 private:
  void take_if_wanted(const CachingAllocator& allocator) {
    while (taken_.size() < moments_->size() && (*moments_)[taken_.size()].state == state_) {
      MemoryState& state = taken_.emplace_back();
      state.map = allocator.memory_map();
      state.settings = allocator.settings();
      for (const MapSegment& segment : state.map.segments) {
        for (const MapBlock& block : segment.blocks) {
          state.owners.push_back(owners_.of(block));
        }
      }
    }
  }

  const std::vector<Moment>* moments_;
  std::size_t allocations_;
  BlockOwners owners_;
  std::uint64_t state_ = 0;
  std::vector<MemoryState> taken_;
};

}  // namespace

void MomentFinder::begin(const Statistics& statistics) {
  now_.usage = usage_of(statistics);
  singles_[index(MomentKind::peak_reserved)] = here(MomentKind::peak_reserved);
  highest_[index(MomentKind::peak_reserved)] = now_.usage.reserved;
}

void MomentFinder::follow(const Event& event, AllocationStatus status, const Statistics& statistics,
                          std::uint64_t operations) {
  ++now_.state;
  if (!event.is_operation()) {
    follow_marker(event);
    return;
  }
  if (next_step_ < step_begins_.size() && event.kind == EventKind::alloc &&
      event.allocation == step_begins_[next_step_]) {
    begin_step(next_step_++);
  }
  now_.operations = operations;
  now_.stack = event.stack;
  now_.usage = usage_of(statistics);
  raise(MomentKind::peak_reserved, now_.usage.reserved);
  raise(MomentKind::peak_allocated, now_.usage.allocated);
  raise(MomentKind::most_fragmented, fragments(statistics));
  if (status == AllocationStatus::out_of_memory && ooms_.size() < limits_.ooms) {
    ooms_.push_back(here(MomentKind::out_of_memory));
  }
  singles_[index(MomentKind::end)] = here(MomentKind::end);
}

Moment MomentFinder::here(MomentKind kind) const {
  Moment moment = now_;
  moment.kind = kind;
  return moment;
}

void MomentFinder::follow_marker(const Event& event) {
  if (event.kind == EventKind::step) {
    begin_step(event.value);
    now_.phase = StringId::none();
  } else if (event.kind == EventKind::phase) {
    now_.phase = event.text();
  }
}

void MomentFinder::begin_step(std::uint64_t step) {
  end_step();
  now_.step = step;
}

/// The first few step ends are kept; the last one always takes the last place.
void MomentFinder::end_step() {
  const std::optional<Moment>& last = singles_[index(MomentKind::end)];
  if (!now_.step || !last || limits_.step_ends == 0) {
    return;
  }
  if (step_ends_.size() == limits_.step_ends) {
    step_ends_.pop_back();
  }
  step_ends_.push_back(*last);
  step_ends_.back().kind = MomentKind::step_end;
  step_ends_.back().step = now_.step;
}

void MomentFinder::raise(MomentKind kind, Bytes value) {
  if (value > highest_[index(kind)]) {
    highest_[index(kind)] = value;
    singles_[index(kind)] = here(kind);
  }
}

std::optional<Moment> MomentFinder::find(MomentKind kind) const {
  if (kind == MomentKind::out_of_memory) {
    return ooms_.empty() ? std::nullopt : std::optional(ooms_.front());
  }
  return singles_.at(index(kind));
}

std::vector<Moment> MomentFinder::take() {
  end_step();
  std::vector<Moment> moments;
  for (const std::optional<Moment>& moment : singles_) {
    if (moment) {
      moments.push_back(*moment);
    }
  }
  std::ranges::move(ooms_, std::back_inserter(moments));
  std::ranges::move(step_ends_, std::back_inserter(moments));
  std::ranges::stable_sort(moments, {}, &Moment::state);
  return moments;
}

Moment find_peak_reserved(const WatchedReplay& replay) {
  PeakWatcher watcher;
  replay(watcher);
  return watcher.peak();
}

std::vector<MemoryState> states_at(const std::vector<Moment>& moments, std::size_t allocations,
                                   const WatchedReplay& replay) {
  StateTaker taker(moments, allocations);
  replay(taker);
  return taker.take();
}

}  // namespace highwater
