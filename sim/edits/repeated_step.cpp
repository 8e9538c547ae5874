// A run with one of its steps more than once.
#include <algorithm>
#include <functional>
#include <optional>

#include <fmt/format.h>

#include "sim/edits/crossing_blocks.hpp"
#include "sim/edits/edit_kinds.hpp"
#include "sim/edits/rewriting.hpp"
#include "sim/edits/steps_of_run.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

/// Waiting that a step takes over from the one before: in a copy, a stream that was done without
/// the step having used it stands for one that the step itself leaves waiting.
std::vector<std::pair<std::size_t, StreamId>> taken_over(const std::vector<Event>& events,
                                                         std::size_t streams) {
  std::vector<bool> is_used(streams);
  std::vector<std::size_t> from_before;
  std::vector<StreamId> left;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if (event.kind == EventKind::record_stream) {
      is_used[event.stream.index()] = true;
      std::erase(left, event.stream);
      left.push_back(event.stream);
    } else if (event.kind == EventKind::stream_done) {
      std::erase(left, event.stream);
      if (!is_used[event.stream.index()]) {
        from_before.push_back(i);
      }
    }
  }
  std::vector<std::pair<std::size_t, StreamId>> result;
  for (std::size_t i = 0; i < std::min(from_before.size(), left.size()); ++i) {
    result.emplace_back(from_before[i], left[i]);
  }
  return result;
}

/// By AllocationId: the event that frees it; the number of events where there is none.
std::vector<std::size_t> free_places(const RequestTrace& trace) {
  std::vector<std::size_t> places(trace.allocation_count, trace.events.size());
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.events[i].kind == EventKind::free) {
      places[trace.events[i].allocation.index()] = i;
    }
  }
  return places;
}

class StepRepeater {
 public:
  StepRepeater(const CrossingBlocks& blocks, const std::vector<LeftByEach>& by_each,
               const StepSpan& step, std::uint64_t copies, RequestTrace& trace)
      : blocks_(&blocks),
        step_(step),
        copies_(copies),
        trace_(&trace),
        latest_(trace.allocation_count),
        handed_on_(trace.allocation_count),
        is_made_once_(trace.allocation_count),
        all_(trace.allocation_count) {
    for (const CrossingBlock& block : blocks.left_behind) {
      is_made_once_[block.id.index()] = true;
    }
    const std::vector<std::size_t> frees =
        by_each.empty() ? std::vector<std::size_t>{} : free_places(trace);
    for (const LeftByEach& left : by_each) {
      is_made_once_[left.id.index()] = false;
      const bool is_later = left.beside > left.id;
      const bool is_freed_later = frees[left.beside.index()] > frees[left.id.index()];
      all_[left.id.index()] = Copies{.newest_first = is_later != is_freed_later};
    }
  }

  void operator()(const Event& event, ChunkedVector<Event>& written) {
    if (position_ == step_.end) {
      put_copies(written);
    }
    if (position_ >= step_.begin && position_ < step_.end) {
      events_.push_back(event);
      written.push_back(event);
    } else if (position_ < step_.begin) {
      written.push_back(event);
    } else {
      put_behind(event, written);
    }
    ++position_;
  }

  /// To be called at the end, for a step that the run ends with.
  void finish(ChunkedVector<Event>& written) {
    if (position_ == step_.end) {
      put_copies(written);
    }
  }

 private:
  void put_copies(ChunkedVector<Event>& written) {
    const auto waits = taken_over(events_, trace_->stream_handles.size());
    for (std::uint64_t copy = 1; copy <= copies_; ++copy) {
      for (const Succession& pair : blocks_->successions) {
        handed_on_[pair.older.index()] = latest(pair.younger);
      }
      auto next = waits.begin();
      for (std::size_t i = 0; i < events_.size(); ++i) {
        Event event = events_[i];
        if (next != waits.end() && next->first == i) {
          event.stream = (next++)->second;
        }
        put_copy(event, copy, written);
      }
    }
    events_ = {};
  }

  void put_copy(Event event, std::uint64_t copy, ChunkedVector<Event>& written) {
    if (event.kind == EventKind::step) {
      event.value += copy;
    } else if (event.kind == EventKind::pool_retire || event.kind == EventKind::pool_release) {
      return;
    } else if (event.allocation.has_value()) {
      const std::optional<AllocationId> id = name_in_copy(event);
      if (!id) {
        return;
      }
      event.allocation = *id;
    }
    written.push_back(event);
  }

  /// Which block a copy of the event is about; absent where there is none.
  std::optional<AllocationId> name_in_copy(const Event& event) {
    const std::size_t id = event.allocation.index();
    if (!blocks_->made[id]) {
      const bool is_handed_on = handed_on_[id].has_value();
      return is_handed_on                    ? std::optional(handed_on_[id])
             : event.kind == EventKind::free ? std::nullopt
                                             : std::optional(event.allocation);
    }
    if (event.kind == EventKind::alloc) {
      if (is_made_once_[id]) {
        return std::nullopt;
      }
      latest_[id] = new_allocation(*trace_);
      if (all_[id]) {
        all_[id]->ids.push_back(latest_[id]);
      }
    }
    return latest(event.allocation);
  }

  [[nodiscard]] AllocationId latest(AllocationId id) const {
    return latest_[id.index()].has_value() ? latest_[id.index()] : id;
  }

  /// Behind the step its blocks are those of the last copy; what each copy left is freed with the
  /// first.
  void put_behind(Event event, ChunkedVector<Event>& written) {
    if (event.kind == EventKind::step) {
      event.value += copies_;
    }
    if (!event.allocation.has_value() || event.allocation.index() >= latest_.size()) {
      written.push_back(event);
      return;
    }
    if (const auto& all = all_[event.allocation.index()]) {
      put_for_all(event, *all, written);
      return;
    }
    event.allocation = latest(event.allocation);
    written.push_back(event);
  }

  /// Blocks that every copy has left behind, of which the program frees the newest or the oldest
  /// first: as it does with those of different steps.
  struct Copies {
    std::vector<AllocationId> ids;
    bool newest_first = false;
  };

  static void put_for_all(Event event, const Copies& copies, ChunkedVector<Event>& written) {
    std::vector<AllocationId> ids{event.allocation};
    ids.insert(ids.end(), copies.ids.begin(), copies.ids.end());
    if (copies.newest_first) {
      std::ranges::reverse(ids);
    }
    for (const AllocationId id : ids) {
      event.allocation = id;
      written.push_back(event);
    }
  }

  const CrossingBlocks* blocks_;
  StepSpan step_;
  std::uint64_t copies_;
  RequestTrace* trace_;
  std::size_t position_ = 0;
  std::vector<Event> events_;            ///< of the step
  std::vector<AllocationId> latest_;     ///< by AllocationId: the block of the newest copy
  std::vector<AllocationId> handed_on_;  ///< by AllocationId: what a copy finds in its place
  std::vector<bool> is_made_once_;
  std::vector<std::optional<Copies>> all_;  ///< by AllocationId: what each copy left
};

/// A hundred million events are what the project is made for.
void require_bounded(const StepSpan& step, std::uint64_t copies) {
  constexpr std::uint64_t kMost = 100'000'000;
  if (copies > kMost / (step.end - step.begin)) {
    throw UsageError(fmt::format(
        "{} copies of a step of {} events are more than {} events; repeat it fewer times", copies,
        step.end - step.begin, kMost));
  }
}

}  // namespace

EditReport apply(const RepeatStep& edit, EditedRun& run) {
  const Steps steps = steps_of_run(run);
  const StepSpan step = step_called(steps, edit.step);
  const CrossingBlocks blocks = crossing_blocks(run.trace, step);
  const std::vector<LeftByEach> by_each = left_by_each(run.trace, blocks, step_beside(steps, step));
  const std::vector<CrossingBlock> once = left_once(blocks, by_each);
  const std::uint64_t copies = edit.times - 1;
  require_bounded(step, copies);
  EditReport report{
      .done = fmt::format("step {} happens {} times, with {} allocations more", edit.step,
                          edit.times, (blocks.blocks - once.size()) * copies),
      .blocks = blocks.blocks,
      .changed = (blocks.blocks - once.size()) * copies,
      .bytes = (blocks.bytes - bytes_of(once)) * copies};
  StepRepeater repeater(blocks, by_each, step, copies, run.trace);
  rewrite(run, std::ref(repeater));
  repeater.finish(run.trace.events);
  report.assumed.push_back(where_steps_begin(steps));
  report.assumed.push_back(fmt::format(
      "{} blocks are handed on from each repetition to the next, as the step takes over those of "
      "the same site from the one before it",
      blocks.successions.size()));
  if (!once.empty()) {
    report.unknown.push_back(fmt::format(
        "whether the {} blocks that this step alone leaves behind would be made again: they are "
        "made once; a step that is like its neighbours is the better one to repeat",
        once.size()));
  }
  return report;
}

}  // namespace highwater
