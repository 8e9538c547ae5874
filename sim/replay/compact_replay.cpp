#include "sim/replay/compact_replay.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/replay/free_replay.hpp"
#include "sim/replay/repeated_step.hpp"
#include "traces/cancellation.hpp"

namespace highwater {
namespace {

/// Rounds after which no state is expected to come back any more.
constexpr std::size_t kPatientRounds = 48;

/// What the next round depends on.
struct RoundState {
  LiveAddresses live;  ///< of what rounds may refer to
  StateImage image;

  bool operator==(const RoundState&) const = default;
};

/// What is known of a state at no cost. Expandable segments have no pieces to count.
struct StateSketch {
  std::int64_t allocated = 0;  ///< bytes
  std::int64_t pieces = 0;     ///< of cut segments, free
  std::int64_t in_pieces = 0;  ///< bytes

  bool operator==(const StateSketch&) const = default;
};

StateSketch sketch_of(const Statistics& statistics) {
  return {statistics.current(Stat::allocated_bytes), statistics.current(Stat::inactive_split),
          statistics.current(Stat::inactive_split_bytes)};
}

/// The states between rounds. Most that do not come back have a sketch that no state before them
/// had, and only the others are looked at closely: a cycle is found one period later. All of these
/// are kept while that takes less time than the rounds, else those after 1, 2, 4, ... rounds
/// (Brent's search for a cycle).
class RoundStates {
 public:
  explicit RoundStates(std::size_t events_of_round) : events_(events_of_round) {}

  /// Whether the state may have been there before.
  bool looks_known(const StateSketch& sketch) {
    const bool is_known = std::ranges::find(sketches_, sketch) != sketches_.end();
    if (!is_known) {
      sketches_.push_back(sketch);
    }
    return is_known;
  }

  /// How many rounds ago the state was `state`, which is the one after `done` rounds; 0 if that is
  /// not known.
  std::size_t period(std::size_t done, RoundState state) {
    const auto same = std::ranges::find(known_, state, &Known::state);
    if (same != known_.end()) {
      return done - same->done;
    }
    const bool is_small = state.image.blocks.size() * kEventsPerBlock < events_;
    if (!is_small && std::has_single_bit(done)) {
      known_.clear();
    }
    if (is_small || known_.empty()) {
      known_.push_back({std::move(state), done});
    }
    return 0;
  }

 private:
  /// A block of an image takes as much time as so many events, at most.
  static constexpr std::size_t kEventsPerBlock = 4;

  struct Known {
    RoundState state;
    std::size_t done = 0;
  };

  std::size_t events_;
  std::vector<StateSketch> sketches_;
  std::vector<Known> known_;
};

/// What blocks are for when most is allocated.
class PeakCategories {
 public:
  explicit PeakCategories(std::size_t allocations) : live_(allocations) {}

  void follow(const Event& event, AllocationStatus status, const Statistics& statistics) {
    live_.follow(event, status);
    const Bytes allocated = statistics.current_bytes(Stat::allocated_bytes);
    if (allocated > highest_) {
      highest_ = allocated;
      at_peak_ = live_.breakdown(allocated);
    }
  }

  void pass(AllocationId id, AllocationId other) { live_.pass(id, other); }

  [[nodiscard]] const CategoryBytes& at_peak() const { return at_peak_; }

 private:
  LiveCategories live_;
  Bytes highest_;
  CategoryBytes at_peak_;
};

class CompactRun {
 public:
  /// `peak`, if there is one, follows what blocks are for.
  CompactRun(const CompactTrace& compact, const ReplayOptions& options, PeakCategories* peak)
      : compact_(compact), options_(options), categories_(peak), run_(compact.trace, options) {}

  CompactPeaks peaks() {
    const std::vector<StepEvents> steps = steps_of(compact_);
    const StepEvents* before = nullptr;
    StepBegin from;
    for (const StepEvents& step : steps) {
      StepBegin begin = step_begin(run_.allocator, run_.driver, step);
      if (before == nullptr || is_over() || !pass_over(*before, step, from, begin)) {
        carry_out_step(step);
      }
      before = &step;
      from = std::move(begin);
    }
    raise_peaks();
    return peaks_;
  }

 private:
  [[nodiscard]] bool is_over() const {
    return peaks_.ran_out && options_.after_oom == AfterOom::stop;
  }

  void raise_peaks() {
    const Statistics& statistics = run_.allocator.statistics();
    const auto raise = [&](Bytes& bar, Stat stat) {
      bar = std::max(bar, Bytes{static_cast<std::uint64_t>(statistics.all(stat).peak)});
    };
    raise(peaks_.peak.requested, Stat::requested_bytes);
    raise(peaks_.peak.allocated, Stat::allocated_bytes);
    raise(peaks_.peak.active, Stat::active_bytes);
    raise(peaks_.peak.reserved, Stat::reserved_bytes);
  }

  void carry_out(std::size_t begin, std::size_t end) {
    while (begin < end && !is_over()) {
      stop_if_cancelled();
      const std::span<const Event> events = compact_.trace.events.piece(begin, end);
      carry_out(events);
      begin += events.size();
    }
  }

  void carry_out(std::span<const Event> events) {
    for (std::size_t i = 0; i < events.size(); ++i) {
      const Event& event = events[i];
      if (i + 1 < events.size() && passes(event, events[i + 1])) {
        ++i;
        continue;
      }
      if (event.kind == EventKind::reset_peaks) {
        raise_peaks();
      }
      if (event.equal_blocks() > 0) {
        carry_out_equal_blocks(event);
        if (is_over()) {
          return;
        }
        continue;
      }
      if (!equal_blocks_.empty()) {
        use_equal_blocks(event);
      }
      const AllocationStatus status = run_.driver.apply(event);
      peaks_.ran_out |= status == AllocationStatus::out_of_memory;
      if (categories_ != nullptr) {
        categories_->follow(event, status, run_.allocator.statistics());
      }
      if (status == AllocationStatus::out_of_memory && is_over()) {
        return;
      }
    }
  }

  /// To whoever follows what blocks are for, it is one block of all that were handed out.
  void carry_out_equal_blocks(Event event) {
    std::vector<BlockId>& blocks = equal_blocks_[event.allocation];
    const Bytes served =
        run_.allocator.allocate_equal({event.equal_blocks(), event.bytes(), event.stream}, blocks);
    peaks_.ran_out |= served < event.bytes();
    event.value = served.count();
    if (categories_ != nullptr) {
      categories_->follow(event, AllocationStatus::ok, run_.allocator.statistics());
    }
  }

  /// What happens to blocks that the driver does not know.
  void use_equal_blocks(const Event& event) {
    const auto found = equal_blocks_.find(event.allocation);
    if (found == equal_blocks_.end()) {
      return;
    }
    if (event.kind == EventKind::record_stream) {
      for (const BlockId id : found->second) {
        run_.allocator.record_stream(id, event.stream);
      }
    } else if (event.kind == EventKind::free) {
      std::ranges::for_each(found->second, [this](BlockId id) { run_.allocator.free(id); });
      equal_blocks_.erase(found);
    }
  }

  /// Whether `event` allocates what `next` frees, and both are done.
  bool passes(const Event& event, const Event& next) {
    return event.kind == EventKind::alloc && next.kind == EventKind::free &&
           next.allocation == event.allocation && categories_ == nullptr &&
           event.equal_blocks() == 0 && run_.allocator.touch(event.bytes(), event.stream);
  }

  void carry_out_step(const StepEvents& step) {
    std::size_t next = step.begin;
    for (const RepeatedRound& round : step.rounds) {
      carry_out(next, round.end);
      repeat(round);
      next = round.end;
    }
    carry_out(next, step.end);
  }

  /// Leaves the step out if it repeats the one before it. What that one left is then the step's.
  bool pass_over(const StepEvents& before, const StepEvents& step, const StepBegin& from,
                 const StepBegin& begin) {
    const StepPair pair(compact_.trace, before, step);
    if (!pair.repeats(from, begin)) {
      return false;
    }
    for (const auto& [id, address] : begin.live) {
      if (before.makes(AllocationId{id})) {
        pass(AllocationId{id}, pair.later(AllocationId{id}));
      }
    }
    return true;
  }

  void repeat(const RepeatedRound& round) {
    RoundStates states(round.length());
    std::size_t left = round.times;
    for (std::size_t done = 0; left > 0 && !is_over(); ++done) {
      if (done < kPatientRounds) {
        if (const std::size_t period = period_at(round, done, states)) {
          carry_out_rounds(round, left % period);
          return;
        }
      }
      carry_out_rounds(round, 1);
      --left;
    }
  }

  void carry_out_rounds(const RepeatedRound& round, std::size_t rounds) {
    for (std::size_t i = 0; i < rounds; ++i) {
      number_back(round);
      carry_out(round.begin, round.end);
    }
  }

  std::size_t period_at(const RepeatedRound& round, std::size_t done, RoundStates& states) const {
    if (!states.looks_known(sketch_of(run_.allocator.statistics()))) {
      return 0;
    }
    std::optional<StateImage> image = run_.allocator.image();
    return image ? states.period(done, {live_of(round), std::move(*image)}) : 0;
  }

  [[nodiscard]] LiveAddresses live_of(const RepeatedRound& round) const {
    LiveAddresses live;
    const auto add = [&](AllocationId first, std::uint32_t count) {
      for (std::size_t id = first.index(); id < first.index() + count; ++id) {
        const BlockId block = run_.driver.handle(AllocationId{id});
        if (block.has_value()) {
          live.emplace_back(id, run_.allocator.block(block).address);
        }
      }
    };
    for (const NumberedBack& each : round.numbered_back) {
      add(each.to, each.count);
      add(each.from, each.count);
    }
    return live;
  }

  /// What the round that comes refers to gets the numbers that the round before it used. The blocks
  /// that had these are freed by then, or numbered back themselves.
  void number_back(const RepeatedRound& round) {
    for (const NumberedBack& each : round.numbered_back) {
      run_.driver.pass_handles_back(each.from, each.count, each.from.index() - each.to.index());
      for (std::uint32_t i = 0; i < each.count && categories_ != nullptr; ++i) {
        categories_->pass(AllocationId{each.from.value() + i}, AllocationId{each.to.value() + i});
      }
    }
  }

  void pass(AllocationId id, AllocationId other) {
    run_.driver.pass_handle(id, other);
    if (categories_ != nullptr) {
      categories_->pass(id, other);
    }
  }

  const CompactTrace& compact_;
  const ReplayOptions& options_;
  PeakCategories* categories_;
  FreeReplay run_;
  CompactPeaks peaks_;
  std::map<AllocationId, std::vector<BlockId>> equal_blocks_;  ///< that are live
};

}  // namespace

ReplayBar replay_compact(const CompactTrace& compact, const ReplayOptions& options) {
  const CompactPeaks peaks = CompactRun(compact, options, nullptr).peaks();
  return {peaks.peak.reserved, peaks.peak.active, peaks.ran_out};
}

CompactPeaks replay_compact_peaks(const CompactTrace& compact, const ReplayOptions& options) {
  PeakCategories categories(compact.trace.allocation_count);
  CompactPeaks peaks = CompactRun(compact, options, &categories).peaks();
  peaks.at_peak = categories.at_peak();
  return peaks;
}

}  // namespace highwater
