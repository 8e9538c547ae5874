// A run without one of its steps.
#include <fmt/format.h>

#include "sim/edits/crossing_blocks.hpp"
#include "sim/edits/edit_kinds.hpp"
#include "sim/edits/rewriting.hpp"
#include "sim/edits/steps_of_run.hpp"

namespace highwater {
namespace {

class StepDropper {
 public:
  StepDropper(const CrossingBlocks& blocks, const std::vector<CrossingBlock>& kept,
              const StepSpan& step, std::size_t allocations)
      : blocks_(&blocks),
        step_(step),
        is_kept_(allocations),
        is_handed_on_(allocations),
        names_(allocations) {
    for (const CrossingBlock& block : kept) {
      is_kept_[block.id.index()] = true;
    }
    for (const Succession& pair : blocks.successions) {
      is_handed_on_[pair.older.index()] = true;
      names_[pair.younger.index()] = pair.older;
    }
  }

  void operator()(const Event& event, ChunkedVector<Event>& written) {
    const bool is_inside = position_ >= step_.begin && position_ < step_.end;
    ++position_;
    if (is_inside ? stays(event) : !is_gone(renamed(event))) {
      written.push_back(is_inside ? event : renamed(event));
    }
  }

 private:
  [[nodiscard]] Event renamed(Event event) const {
    if (event.allocation.has_value() && names_[event.allocation.index()].has_value()) {
      event.allocation = names_[event.allocation.index()];
    }
    return event;
  }

  /// A block that the step would have made.
  [[nodiscard]] bool is_gone(const Event& event) const {
    return event.allocation.has_value() && blocks_->made[event.allocation.index()] &&
           !is_kept_[event.allocation.index()];
  }

  /// Of the step: what it leaves behind for good, what it only frees, and what ends waiting or
  /// belongs to sessions that may go on.
  [[nodiscard]] bool stays(const Event& event) const {
    switch (event.kind) {
      case EventKind::alloc:
      case EventKind::record_stream:
      case EventKind::free:
        return is_kept_[event.allocation.index()] ||
               (event.kind == EventKind::free && !blocks_->made[event.allocation.index()] &&
                !is_handed_on_[event.allocation.index()]);
      case EventKind::stream_done:
      case EventKind::all_streams_done:
      case EventKind::pool_begin:
      case EventKind::pool_end:
      case EventKind::pool_retire:
      case EventKind::pool_release:
        return true;
      default:
        return false;
    }
  }

  const CrossingBlocks* blocks_;
  StepSpan step_;
  std::size_t position_ = 0;
  std::vector<bool> is_kept_;
  std::vector<bool> is_handed_on_;
  std::vector<AllocationId> names_;  ///< by AllocationId: which block is there instead
};

}  // namespace

EditReport apply(const DropStep& edit, EditedRun& run) {
  const Steps steps = steps_of_run(run);
  const StepSpan step = step_called(steps, edit.step);
  const CrossingBlocks blocks = crossing_blocks(run.trace, step);
  const std::vector<CrossingBlock> kept =
      left_once(blocks, left_by_each(run.trace, blocks, step_beside(steps, step)));
  EditReport report{.done = fmt::format("step {} left out, with {} allocations", edit.step,
                                        blocks.blocks - kept.size()),
                    .blocks = blocks.blocks,
                    .changed = blocks.blocks - kept.size(),
                    .bytes = blocks.bytes - bytes_of(kept)};
  rewrite(run, StepDropper(blocks, kept, step, run.trace.allocation_count));
  report.assumed.push_back(where_steps_begin(steps));
  report.assumed.push_back(fmt::format(
      "{} blocks that the step before hands on, and this one would have replaced by its own from "
      "the same site, live on in their place",
      blocks.successions.size()));
  if (!kept.empty()) {
    report.unknown.push_back(fmt::format(
        "whether a later step would have made the {} blocks ({}) that this step alone makes and "
        "leaves behind (optimizer states in the first step): they are made where they were",
        kept.size(), to_iec(bytes_of(kept))));
  }
  return report;
}

}  // namespace highwater
