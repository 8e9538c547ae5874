// Blocks that are given back earlier: by a number of requests, or after their last known use.
//
// A free that waited for other streams takes its waiting along: if it was found complete at the
// first allocation after the free, nothing shows that it waited any longer, and it completes
// likewise at its new place; otherwise it completes when it did. A record_stream with an allocation
// or a free behind it is a use of the block, which no free comes before.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "sim/edits/edit_kinds.hpp"
#include "sim/edits/rewriting.hpp"

namespace highwater {
namespace {

constexpr std::uint32_t kNoRequest = std::numeric_limits<std::uint32_t>::max();

/// What the trace shows of one chosen block. Requests are counted from 0.
struct ChosenBlock {
  AllocationId id;
  std::uint64_t bytes = 0;
  std::uint32_t made = 0;                 ///< the request that made it
  std::uint32_t freed = kNoRequest;       ///< the one that freed it
  std::uint32_t use = kNoRequest;         ///< the request behind its last record_stream
  std::uint32_t use_before = kNoRequest;  ///< behind the last one with another request behind it
  std::uint32_t target = kNoRequest;      ///< the request that the free comes before, once decided
  bool waits_beyond_allocation = false;  ///< found complete later than the first one after the free
  StreamId waits_on;                     ///< at its new place, while it waits there

  [[nodiscard]] bool waits() const { return freed != kNoRequest && use == freed; }

  /// Absent as kNoRequest.
  [[nodiscard]] std::uint32_t last_use() const { return waits() ? use_before : use; }

  [[nodiscard]] bool is_moved() const { return target != kNoRequest; }
};

/// A stream on which a block waited was done with this event.
struct LateEnd {
  std::size_t event = 0;
  AllocationId id;
};

/// Finds the chosen blocks in the trace.
class BlockSurvey {
 public:
  BlockSurvey(const SiteSet& sites, const EditedRun& run)
      : slots_(run.trace.allocation_count, kNoRequest), waiting_(run.trace.stream_handles.size()) {
    for (std::size_t i = 0; i < run.trace.events.size(); ++i) {
      if (i == run.older_events) {
        first_request_ = requests_;
      }
      see(run.trace.events[i], i, sites);
    }
  }

  [[nodiscard]] std::vector<ChosenBlock>& blocks() { return blocks_; }

  /// The waits that ended after the first allocation behind their free, in order.
  [[nodiscard]] const std::vector<LateEnd>& late_ends() const { return late_ends_; }

  /// Requests before this one make blocks that are older than the recording.
  [[nodiscard]] std::uint32_t first_request() const { return first_request_; }

  /// Null for blocks that were not chosen.
  [[nodiscard]] ChosenBlock* find(AllocationId id) {
    const std::uint32_t slot = id.has_value() ? slots_[id.index()] : kNoRequest;
    return slot == kNoRequest ? nullptr : &blocks_[slot];
  }

 private:
  void see(const Event& event, std::size_t position, const SiteSet& sites) {
    if (event.kind == EventKind::alloc) {
      ++allocations_;
      if (sites.contains(event.stack)) {
        slots_[event.allocation.index()] = static_cast<std::uint32_t>(blocks_.size());
        blocks_.push_back({.id = event.allocation, .bytes = event.value, .made = requests_});
      }
    } else if (event.kind == EventKind::stream_done) {
      end_waiting(event.stream, position);
    } else if (ChosenBlock* const block = find(event.allocation)) {
      see_block(event, *block);
    }
    if (is_request(event)) {
      ++requests_;
      used_on_.clear();
    }
  }

  void see_block(const Event& event, ChosenBlock& block) {
    if (event.kind == EventKind::record_stream) {
      block.use_before = block.use == requests_ ? block.use_before : block.use;
      block.use = requests_;
      used_on_.push_back({block.id, event.stream});
    } else if (event.kind == EventKind::free && block.freed == kNoRequest) {
      block.freed = requests_;
      if (block.waits()) {
        begin_waiting(block);
      }
    }
  }

  /// On the streams of the record_streams directly before the free.
  void begin_waiting(const ChosenBlock& block) {
    for (const Use& use : used_on_) {
      if (use.id == block.id) {
        waiting_[use.stream.index()].push_back({block.id, allocations_});
      }
    }
  }

  void end_waiting(StreamId stream, std::size_t position) {
    for (const Waiting& waiting : waiting_[stream.index()]) {
      if (allocations_ != waiting.allocations) {
        find(waiting.id)->waits_beyond_allocation = true;
        late_ends_.push_back({position, waiting.id});
      }
    }
    waiting_[stream.index()].clear();
  }

  struct Use {
    AllocationId id;
    StreamId stream;
  };

  struct Waiting {
    AllocationId id;
    std::uint64_t allocations = 0;  ///< made when it was freed
  };

  std::vector<std::uint32_t> slots_;  ///< by AllocationId
  std::vector<ChosenBlock> blocks_;
  std::vector<Use> used_on_;  ///< since the last request
  std::vector<LateEnd> late_ends_;
  std::vector<std::vector<Waiting>> waiting_;
  std::uint32_t requests_ = 0;
  std::uint32_t first_request_ = 0;
  std::uint64_t allocations_ = 0;
};

/// Writes the trace with the frees at their new places.
class FreeMover {
 public:
  FreeMover(BlockSurvey& survey, EditedRun& run) : survey_(&survey), spare_(run.trace) {
    for (ChosenBlock& block : survey.blocks()) {
      if (block.is_moved()) {
        moved_.push_back(&block);
      }
    }
    std::ranges::sort(moved_, {}, [](const ChosenBlock* block) {
      return std::pair(block->target, block->freed);
    });
  }

  void operator()(const Event& event, ChunkedVector<Event>& written) {
    if (is_request(event)) {
      put_frees(written);
    }
    if (event.kind == EventKind::alloc) {
      complete_waiting(written);
    }
    ChosenBlock* const block = survey_->find(event.allocation);
    if (block == nullptr || !block->is_moved() || !is_replaced(event, *block)) {
      written.push_back(event);
    }
    requests_ += is_request(event) ? 1U : 0U;
    complete_late(position_++, written);
  }

 private:
  /// The free, and the record_streams by which it waited.
  [[nodiscard]] bool is_replaced(const Event& event, const ChosenBlock& block) const {
    return event.kind == EventKind::free ||
           (event.kind == EventKind::record_stream && block.waits() && requests_ == block.freed);
  }

  void put_frees(ChunkedVector<Event>& written) {
    for (; next_ < moved_.size() && moved_[next_]->target == requests_; ++next_) {
      ChosenBlock& block = *moved_[next_];
      if (block.waits()) {
        block.waits_on = spare_.take();
        written.push_back(
            {.allocation = block.id, .stream = block.waits_on, .kind = EventKind::record_stream});
        if (!block.waits_beyond_allocation) {
          until_allocation_.push_back(&block);
        }
      }
      written.push_back({.allocation = block.id, .kind = EventKind::free});
    }
  }

  void complete(ChosenBlock& block, ChunkedVector<Event>& written) {
    written.push_back({.stream = block.waits_on, .kind = EventKind::stream_done});
    spare_.give_back(std::exchange(block.waits_on, StreamId::none()));
  }

  /// Before an allocation.
  void complete_waiting(ChunkedVector<Event>& written) {
    for (ChosenBlock* const block : until_allocation_) {
      complete(*block, written);
    }
    until_allocation_.clear();
  }

  /// What waited until the event `position`.
  void complete_late(std::size_t position, ChunkedVector<Event>& written) {
    const std::vector<LateEnd>& ends = survey_->late_ends();
    for (; next_end_ < ends.size() && ends[next_end_].event == position; ++next_end_) {
      ChosenBlock& block = *survey_->find(ends[next_end_].id);
      if (block.waits_on.has_value()) {
        complete(block, written);
      }
    }
  }

  BlockSurvey* survey_;
  SpareStreams spare_;
  std::vector<ChosenBlock*> moved_;  ///< in the order of their new places
  std::size_t next_ = 0;
  std::uint32_t requests_ = 0;
  std::size_t position_ = 0;
  std::size_t next_end_ = 0;
  std::vector<ChosenBlock*> until_allocation_;  ///< complete before the next one
};

/// `target` says before which request a block is freed now, kNoRequest for those that stay.
template <class Target>
EditReport move_frees(const SiteSet& sites, EditedRun& run, Target target) {
  EditReport report;
  BlockSurvey survey(sites, run);
  report.blocks = survey.blocks().size();
  for (ChosenBlock& block : survey.blocks()) {
    const std::uint32_t place = block.freed == kNoRequest ? kNoRequest : target(block);
    if (place == kNoRequest) {
      continue;
    }
    const std::uint32_t use = block.last_use() == kNoRequest ? 0 : block.last_use();
    block.target = std::max({place, block.made + 1, use, survey.first_request()});
    if (block.target >= block.freed) {
      block.target = kNoRequest;
      continue;
    }
    ++report.changed;
    report.bytes += Bytes{block.bytes};
  }
  rewrite(run, FreeMover(survey, run));
  report.done = changed_blocks(report, "freed earlier");
  report.assumed.emplace_back(
      "a free that was complete by the first allocation after it is so at its new place; one that "
      "waited longer completes when it did");
  return report;
}

}  // namespace

EditReport apply(const FreeEarlier& edit, EditedRun& run) {
  EditReport report = move_frees(edit.sites, run, [&](const ChosenBlock& block) {
    return static_cast<std::uint32_t>(block.freed -
                                      std::min<std::uint64_t>(block.freed, edit.requests));
  });
  report.unknown.emplace_back(
      "when the program last uses these blocks: only record_stream shows a use, and no block is "
      "freed before one");
  return report;
}

EditReport apply(const FreeAtLastUse& edit, EditedRun& run) {
  EditReport report =
      move_frees(edit.sites, run, [](const ChosenBlock& block) { return block.last_use(); });
  report.unknown.emplace_back(
      "uses other than record_stream: traces do not have them, and blocks without a record_stream "
      "before their free stay as they are. A recording shows none, since it has a record_stream "
      "only with the free that waited");
  return report;
}

}  // namespace highwater
