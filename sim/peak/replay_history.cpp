#include "sim/peak/replay_history.hpp"

#include <algorithm>
#include <utility>

#include "sim/replay/trace_driver.hpp"
#include "sim/replay/usage_tracker.hpp"

namespace highwater {
namespace {

template <class Enum>
constexpr std::size_t index(Enum e) {
  return static_cast<std::size_t>(e);
}

/// Opens and closes ranges as markers come.
class RangeRecorder {
 public:
  explicit RangeRecorder(const HistoryRequest& request) : keeps_(request.kept_ranges) {
    kept_.fill(LargestKept<HistoryRange>(request.ranges));
  }

  void follow_marker(const Event& event, std::uint64_t at) {
    const RangeKind kind = event.kind == EventKind::step    ? RangeKind::step
                           : event.kind == EventKind::phase ? RangeKind::phase
                                                            : RangeKind::op;
    begin(kind, event.value, at);
  }

  /// A range ends those of its own kind and those inside of them.
  void begin(RangeKind kind, std::uint64_t value, std::uint64_t at) {
    for (std::size_t inner = index(kind); inner < kRangeKinds; ++inner) {
      close(inner, at);
    }
    open_.at(index(kind)) = HistoryRange{value, at, at};
  }

  std::array<KeptItems<HistoryRange>, kRangeKinds> take(std::uint64_t end) {
    std::array<KeptItems<HistoryRange>, kRangeKinds> ranges;
    for (std::size_t kind = 0; kind < kRangeKinds; ++kind) {
      close(kind, end);
      ranges.at(kind) = kept_.at(kind).take();
    }
    return ranges;
  }

 private:
  void close(std::size_t kind, std::uint64_t at) {
    if (std::optional<HistoryRange>& range = open_.at(kind)) {
      range->end = at;
      const bool by_length = keeps_ == KeptRanges::longest;
      kept_.at(kind).add(*range, by_length ? static_cast<double>(at - range->begin) : 0);
      range.reset();
    }
  }

  KeptRanges keeps_;
  std::array<std::optional<HistoryRange>, kRangeKinds> open_{};
  std::array<LargestKept<HistoryRange>, kRangeKinds> kept_;
};

class HistoryRecorder : public StateObserver {
 public:
  HistoryRecorder(const RequestTrace& trace, const HistoryRequest& request)
      : trace_(&trace),
        request_(&request),
        ranges_(request),
        moments_(request.step_begins, request.moments) {
    // The number of events is known, that of operations only in the end.
    const std::uint64_t width =
        trace.events.size() / std::max<std::size_t>(request.stretches, 1) + 1;
    history_.timeline =
        is_by_event() ? Timeline(ThinnedCurve::kAnyNumber, width) : Timeline(request.stretches);
    if (request.segments > 0) {
      pools_.emplace(request.segments, width);
    }
  }

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override {
    usage_ = usage_of(allocator.statistics());
    retries_ = allocator.statistics().counters.num_alloc_retries;
    if (is_by_event()) {
      history_.timeline.add_at(0, curve_values());
    }
    if (pools_) {
      pools_->begin(allocator, driver, trace_->allocation_count);
    }
  }

  void on_state(const Event& event, AllocationStatus status, const CachingAllocator& allocator,
                const TraceDriver& driver) override {
    const Statistics& statistics = allocator.statistics();
    const std::uint64_t at = position(event, driver.operations());
    const Usage before = usage_;
    usage_ = usage_of(statistics);
    follow_ranges(event, at);
    note_marks(event, status, statistics.counters.num_alloc_retries, before, at);
    moments_.follow(event, status, statistics, driver.operations());
    if (pools_) {
      pools_->follow(event, allocator, driver, at);
    }
    add_points(driver.operations());
    const bool is_of_trace = event_ < trace_->events.size() && &event == &trace_->events[event_];
    event_ += is_of_trace ? 1U : 0U;
  }

  [[nodiscard]] DecisionListener* listener() override { return pools_ ? &*pools_ : nullptr; }

  ReplayHistory take() {
    history_.length = is_by_event() ? event_ : operations_;
    history_.ranges = ranges_.take(history_.length);
    history_.moments = moments_.take();
    if (pools_) {
      history_.pools = pools_->take_timelines();
      history_.segments = pools_->take_segments(history_.length);
    }
    return std::move(history_);
  }

 private:
  [[nodiscard]] bool is_by_event() const { return request_->axis == HistoryAxis::events; }

  /// Of the event; a marker is where the next operation will be.
  [[nodiscard]] std::uint64_t position(const Event& event, std::uint64_t operations) const {
    if (is_by_event()) {
      return event_;
    }
    return event.is_operation() ? std::max<std::uint64_t>(operations, 1) - 1 : operations;
  }

  [[nodiscard]] CurveValues curve_values() const {
    return {usage_.requested, usage_.allocated, usage_.active, usage_.reserved};
  }

  void follow_ranges(const Event& event, std::uint64_t at) {
    const std::vector<AllocationId>& begins = request_->step_begins;
    if (!event.is_operation()) {
      ranges_.follow_marker(event, at);
    } else if (next_step_ < begins.size() && event.kind == EventKind::alloc &&
               event.allocation == begins[next_step_]) {
      ranges_.begin(RangeKind::step, next_step_++, at);
    }
  }

  void note_marks(const Event& event, AllocationStatus status, std::int64_t retries,
                  const Usage& before, std::uint64_t at) {
    if (status == AllocationStatus::out_of_memory) {
      mark({MarkKind::out_of_memory, at, event.bytes()});
    } else if (retries > retries_) {
      mark({MarkKind::retry, at, event.bytes()});
    } else if (event.kind == EventKind::empty_cache) {
      mark({MarkKind::empty_cache, at,
            before.reserved - std::min(before.reserved, usage_.reserved)});
    }
    retries_ = retries;
  }

  void mark(const HistoryMark& mark) {
    if (history_.mark_counts.at(index(mark.kind))++ < request_->marks) {
      history_.marks.push_back(mark);
    }
  }

  void add_points(std::uint64_t operations) {
    if (is_by_event()) {
      history_.timeline.add_at(event_, curve_values());
    } else if (operations > operations_) {
      history_.timeline.add(curve_values());
    }
    operations_ = operations;
  }

  const RequestTrace* trace_;
  const HistoryRequest* request_;
  RangeRecorder ranges_;
  MomentFinder moments_;
  std::optional<PoolHistory> pools_;
  ReplayHistory history_;
  Usage usage_;
  std::int64_t retries_ = 0;
  std::size_t next_step_ = 0;
  std::uint64_t event_ = 0;
  std::uint64_t operations_ = 0;
};

}  // namespace

ReplayHistory collect_history(const RequestTrace& trace, const WatchedReplay& replay,
                              const HistoryRequest& request) {
  HistoryRecorder recorder(trace, request);
  replay(recorder);
  return recorder.take();
}

}  // namespace highwater
