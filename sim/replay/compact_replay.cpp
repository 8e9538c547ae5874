#include "sim/replay/compact_replay.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "sim/replay/free_replay.hpp"
#include "traces/cancellation.hpp"

namespace highwater {
namespace {

/// Rounds after which no state is expected to come back any more.
constexpr std::size_t kPatientRounds = 48;

/// Where the live allocations are that rounds may refer to.
using LiveAddresses = std::vector<std::pair<std::size_t, Address>>;

/// What the next round depends on, after so many rounds.
struct RoundState {
  LiveAddresses live;
  std::optional<StateImage> image;
  std::size_t rounds = 0;
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
    std::size_t next = 0;
    for (const RepeatedRound& round : compact_.rounds) {
      carry_out(next, round.end);
      repeat(round);
      next = round.end;
    }
    carry_out(next, compact_.trace.events.size());
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
    for (std::size_t i = begin; i < end && !is_over(); ++i) {
      stop_if_cancelled_at(i);
      const Event& event = compact_.trace.events[i];
      if (event.kind == EventKind::reset_peaks) {
        raise_peaks();
      }
      const AllocationStatus status = run_.driver.apply(event);
      peaks_.ran_out |= status == AllocationStatus::out_of_memory;
      if (categories_ != nullptr) {
        categories_->follow(event, status, run_.allocator.statistics());
      }
    }
  }

  void repeat(const RepeatedRound& round) {
    RoundState known;
    std::size_t left = round.times;
    for (std::size_t done = 0; left > 0 && !is_over(); ++done) {
      if (done < kPatientRounds) {
        if (const std::size_t period = period_at(round, done, known)) {
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

  /// How many rounds ago the state was this one; 0 if that is not known. It becomes the known one
  /// after 1, 2, 4, ... rounds (Brent's search for a cycle), since an image takes time.
  std::size_t period_at(const RepeatedRound& round, std::size_t done, RoundState& known) const {
    LiveAddresses live = live_of(round);
    if (known.image && live == known.live && run_.allocator.image() == known.image) {
      return done - known.rounds;
    }
    if (std::has_single_bit(done)) {
      known = {std::move(live), run_.allocator.image(), done};
    }
    return 0;
  }

  [[nodiscard]] LiveAddresses live_of(const RepeatedRound& round) const {
    LiveAddresses live;
    for (std::size_t id = round.first_alike.index(); id < round.next_allocation.index(); ++id) {
      const BlockId block = run_.driver.handle(AllocationId{id});
      if (block.has_value()) {
        live.emplace_back(id, run_.allocator.block(block).address);
      }
    }
    return live;
  }

  /// The round that comes has the numbers of the one before it, whose allocations take those of a
  /// round earlier. The first of the rounds that are alike has nothing left: what the last one
  /// frees is all from these.
  void number_back(const RepeatedRound& round) {
    for (std::size_t id = round.first_alike.index() + round.allocations;
         id < round.next_allocation.index(); ++id) {
      run_.driver.pass_handle(AllocationId{id}, AllocationId{id - round.allocations});
      if (categories_ != nullptr) {
        categories_->pass(AllocationId{id}, AllocationId{id - round.allocations});
      }
    }
  }

  const CompactTrace& compact_;
  const ReplayOptions& options_;
  PeakCategories* categories_;
  FreeReplay run_;
  CompactPeaks peaks_;
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
