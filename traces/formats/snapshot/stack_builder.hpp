// Collects frames and lists of frames for the stack table, or discards them.
//
// With StackMode::skip lists are numbered, and nothing is stored. Otherwise each list of frames (a
// traceback, shared by identity among entries) is interned by content when its frames arrive, and
// is named by a number until the end, since a list may still grow. A frame that a stack uses must
// not change any more.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "traces/formats/pickle/pickle_value.hpp"
#include "traces/formats/pickle/text_pool.hpp"
#include "traces/formats/snapshot/snapshot_records.hpp"
#include "traces/formats/snapshot/torch_snapshot.hpp"
#include "traces/stack_table.hpp"

namespace highwater::detail {

class StackBuilder {
 public:
  explicit StackBuilder(StackMode mode) : mode_(mode) {}

  [[nodiscard]] bool keeps() const { return mode_ == StackMode::keep; }

  /// A new frame; its fields follow through frame().
  PickleValue make_frame();
  /// The frame to fill; only when keeps(). @throws FieldProblem when a stack uses it already
  FrameRow& frame(PickleValue frame);

  /// A new list of these frames.
  PickleValue make_stack(std::span<const PickleValue> frames, const TextPool& texts);
  /// `bytes_read` bounds the work for a list that grows in many small steps.
  void extend(PickleValue stack, std::span<const PickleValue> frames, const TextPool& texts,
              std::uint64_t bytes_read);

  /// The number of the list `stack`, for records.
  [[nodiscard]] static StackId list_id(PickleValue stack) {
    return StackId{static_cast<std::uint32_t>(stack.payload())};
  }

  /// The stack for the list; none when stacks are skipped.
  [[nodiscard]] StackId interned(StackId list) const {
    return keeps() && list.has_value() ? lists_[list.index()] : StackId{};
  }

  [[nodiscard]] SideTables& tables() { return tables_; }

  /// Bytes of all that is kept, about.
  [[nodiscard]] std::uint64_t memory() const;

 private:
  StackId intern(std::span<const FrameId> before, std::span<const PickleValue> frames,
                 const TextPool& texts);
  FrameId intern_frame(FrameRow& row, const TextPool& texts);
  StringId intern_text(PickleValue text, const TextPool& texts);

  StackMode mode_;
  std::uint32_t skipped_ = 0;  ///< lists
  std::vector<FrameRow> frames_;
  std::vector<StackId> lists_;
  std::vector<StringId> interned_texts_;  ///< by number in the pool of texts
  std::vector<FrameId> scratch_;
  std::uint64_t frames_copied_ = 0;
  std::uint64_t frames_in_stacks_ = 0;
  SideTables tables_;
};

}  // namespace highwater::detail
