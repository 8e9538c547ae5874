#include "sim/peak/memory_history.hpp"

#include <algorithm>

#include "sim/peak/block_owners.hpp"
#include "sim/replay/usage_tracker.hpp"

namespace highwater {
namespace {

/// The first replay: everything but the maps.
class HistoryMomentFinder : public StateObserver {
 public:
  HistoryMomentFinder(const std::vector<AllocationId>& step_begins, const HistoryLimits& limits)
      : step_begins_(&step_begins), limits_(limits) {
    history_.timeline = Timeline(limits.buckets);
  }

  void on_begin(const CachingAllocator& allocator, const TraceDriver& /*driver*/) override {
    usage_ = usage_of(allocator.statistics());
    retries_ = allocator.statistics().counters.num_alloc_retries;
  }

  void on_state(const Event& event, AllocationStatus status, const CachingAllocator& allocator,
                const TraceDriver& driver) override {
    history_.operations = driver.operations();
    if (!event.is_operation()) {
      follow_marker(event);
    } else {
      follow_step_begins(event);
      const Usage before = usage_;
      usage_ = usage_of(allocator.statistics());
      operation_ = std::max<std::uint64_t>(driver.operations(), 1) - 1;
      if (driver.operations() > counted_) {
        history_.timeline.add({usage_.requested, usage_.allocated, usage_.active, usage_.reserved});
        counted_ = driver.operations();
      }
      note_marks(event, status, allocator.statistics().counters.num_alloc_retries, before);
      // Not below 0 where corrections by a recording have disturbed it.
      const std::int64_t split = allocator.statistics().current(Stat::inactive_split_bytes);
      note_peaks(Bytes{static_cast<std::uint64_t>(std::max<std::int64_t>(split, 0))});
      if (status == AllocationStatus::out_of_memory && ooms_.size() < limits_.ooms) {
        ooms_.push_back(here(MomentKind::out_of_memory));
      }
      last_ = here(MomentKind::end);
    }
    ++state_;
  }

  MemoryHistory finish() {
    if (last_) {
      if (step_) {
        end_step();
      }
      for (const auto& moment : {peak_reserved_, peak_allocated_, most_fragmented_, last_}) {
        if (moment) {
          history_.moments.push_back(*moment);
        }
      }
      std::ranges::move(ooms_, std::back_inserter(history_.moments));
      std::ranges::move(step_ends_, std::back_inserter(history_.moments));
    }
    std::ranges::stable_sort(history_.moments, {}, &KeyMoment::state);
    return std::move(history_);
  }

 private:
  [[nodiscard]] KeyMoment here(MomentKind kind) const {
    return {.kind = kind,
            .operation = operation_,
            .state = state_,
            .step = step_,
            .phase = phase_,
            .usage = usage_,
            .map = {},
            .owners = {}};
  }

  void follow_marker(const Event& event) {
    if (event.kind == EventKind::step) {
      begin_step(event.value);
      phase_ = StringId::none();
    } else if (event.kind == EventKind::phase) {
      phase_ = event.text();
      keep(history_.phases, {.operation = counted_, .step = 0, .phase = phase_});
    }
  }

  void follow_step_begins(const Event& event) {
    if (next_step_ < step_begins_->size() && event.kind == EventKind::alloc &&
        event.allocation == (*step_begins_)[next_step_]) {
      begin_step(next_step_++);
    }
  }

  void begin_step(std::uint64_t step) {
    if (step_) {
      end_step();
    }
    step_ = step;
    keep(history_.steps, {.operation = counted_, .step = step, .phase = {}});
  }

  void keep(std::vector<StretchBegin>& list, const StretchBegin& begin) {
    if (list.size() < limits_.stretches) {
      list.push_back(begin);
    } else {
      history_.has_all_stretches = false;
    }
  }

  /// The first few step ends are kept; the last one always takes the last place.
  void end_step() {
    if (!last_) {
      return;
    }
    KeyMoment moment = *last_;
    moment.kind = MomentKind::step_end;
    moment.step = step_;
    if (step_ends_.size() == limits_.step_ends) {
      step_ends_.pop_back();
    }
    step_ends_.push_back(std::move(moment));
  }

  void note_marks(const Event& event, AllocationStatus status, std::int64_t retries,
                  const Usage& before) {
    if (status == AllocationStatus::out_of_memory) {
      mark(MarkKind::out_of_memory, event.bytes());
    } else if (retries > retries_) {
      mark(MarkKind::retry, event.bytes());
    }
    if (event.kind == EventKind::empty_cache) {
      mark(MarkKind::empty_cache, before.reserved - std::min(before.reserved, usage_.reserved));
    }
    retries_ = retries;
  }

  void mark(MarkKind kind, Bytes bytes) {
    if (history_.mark_counts[static_cast<std::size_t>(kind)]++ < limits_.marks) {
      history_.marks.push_back({kind, operation_, bytes});
    }
  }

  void note_peaks(Bytes split) {
    raise(peak_reserved_, highest_reserved_, usage_.reserved, MomentKind::peak_reserved);
    raise(peak_allocated_, highest_allocated_, usage_.allocated, MomentKind::peak_allocated);
    raise(most_fragmented_, highest_split_, split, MomentKind::most_fragmented);
  }

  void raise(std::optional<KeyMoment>& moment, Bytes& highest, Bytes value, MomentKind kind) {
    if (value > highest) {
      highest = value;
      moment = here(kind);
    }
  }

  const std::vector<AllocationId>* step_begins_;
  std::size_t next_step_ = 0;
  HistoryLimits limits_;
  MemoryHistory history_;
  Usage usage_;
  std::int64_t retries_ = 0;
  std::uint64_t counted_ = 0;    ///< operations in the timeline
  std::uint64_t operation_ = 0;  ///< the last one, from 0
  std::uint64_t state_ = 0;
  std::optional<std::uint64_t> step_;
  StringId phase_;
  Bytes highest_reserved_;
  Bytes highest_allocated_;
  Bytes highest_split_;
  std::optional<KeyMoment> peak_reserved_;
  std::optional<KeyMoment> peak_allocated_;
  std::optional<KeyMoment> most_fragmented_;
  std::optional<KeyMoment> last_;
  std::vector<KeyMoment> ooms_;
  std::vector<KeyMoment> step_ends_;
};

/// The second replay: the maps.
class MapTaker : public StateObserver {
 public:
  MapTaker(std::size_t allocations, MemoryHistory& history)
      : allocations_(allocations), history_(&history) {}

  void on_begin(const CachingAllocator& /*allocator*/, const TraceDriver& driver) override {
    owners_.begin(driver, allocations_);
  }

  void on_state(const Event& event, AllocationStatus /*status*/, const CachingAllocator& allocator,
                const TraceDriver& driver) override {
    owners_.follow(event, driver);
    for (; next_ < history_->moments.size() && history_->moments[next_].state == state_; ++next_) {
      take(history_->moments[next_], allocator);
    }
    ++state_;
  }

 private:
  void take(KeyMoment& moment, const CachingAllocator& allocator) const {
    moment.map = allocator.memory_map();
    for (const MapSegment& segment : moment.map.segments) {
      for (const MapBlock& block : segment.blocks) {
        moment.owners.push_back(owners_.of(block));
      }
    }
  }

  std::size_t allocations_;
  MemoryHistory* history_;
  BlockOwners owners_;
  std::size_t next_ = 0;
  std::uint64_t state_ = 0;
};

}  // namespace

MemoryHistory collect_history(std::size_t allocations, const WatchedReplay& replay,
                              const std::vector<AllocationId>& step_begins,
                              const HistoryLimits& limits) {
  HistoryMomentFinder finder(step_begins, limits);
  replay(finder);
  MemoryHistory history = finder.finish();
  MapTaker taker(allocations, history);
  replay(taker);
  return history;
}

}  // namespace highwater
