#include "traces/formats/snapshot/stack_builder.hpp"

#include <algorithm>
#include <limits>

#include "traces/side_table_memory.hpp"

namespace highwater::detail {

PickleValue StackBuilder::make_frame() {
  if (!keeps()) {
    return PickleValue{kFrame};
  }
  frames_.emplace_back();
  return PickleValue{kFrame, frames_.size() - 1};
}

FrameRow& StackBuilder::frame(PickleValue frame) {
  FrameRow& row = frames_[static_cast<std::size_t>(frame.payload())];
  if (row.interned.has_value()) {
    throw FieldProblem{"", "a stack frame changes after it was put into a list of frames"};
  }
  return row;
}

PickleValue StackBuilder::make_stack(std::span<const PickleValue> frames, const TextPool& texts) {
  if (std::max<std::uint64_t>(lists_.size(), skipped_) ==
      std::numeric_limits<std::uint32_t>::max()) {
    throw FieldProblem{"", "the file holds more than 2^32-1 call stacks"};
  }
  if (!keeps()) {
    return PickleValue{kStack, skipped_++};
  }
  lists_.push_back(intern({}, frames, texts));
  return PickleValue{kStack, lists_.size() - 1};
}

void StackBuilder::extend(PickleValue stack, std::span<const PickleValue> frames,
                          const TextPool& texts, std::uint64_t bytes_read) {
  if (!keeps()) {
    return;
  }
  StackId& list = lists_[static_cast<std::size_t>(stack.payload())];
  const auto before = tables_.stacks.stack(list);
  frames_copied_ += before.size();
  if (frames_copied_ > bytes_read) {
    throw FieldProblem{"", "the lists of stack frames are built in too many small steps"};
  }
  list = intern(before, frames, texts);
}

StackId StackBuilder::intern(std::span<const FrameId> before, std::span<const PickleValue> frames,
                             const TextPool& texts) {
  scratch_.assign(before.begin(), before.end());
  for (const PickleValue frame : frames) {
    FrameRow& row = frames_[static_cast<std::size_t>(frame.payload())];
    scratch_.push_back(row.interned.has_value() ? row.interned : intern_frame(row, texts));
  }
  frames_in_stacks_ += frames.size();
  return tables_.stacks.intern_stack(scratch_);
}

std::uint64_t StackBuilder::memory() const {
  return frames_.size() * sizeof(FrameRow) + lists_.size() * sizeof(StackId) +
         interned_texts_.size() * sizeof(StringId) + tables_.strings.size() * string_memory(0) +
         tables_.stacks.frame_count() * frame_memory() +
         tables_.stacks.stack_count() * stack_memory(0) + frames_in_stacks_ * sizeof(FrameId);
}

FrameId StackBuilder::intern_frame(FrameRow& row, const TextPool& texts) {
  row.interned = tables_.stacks.intern_frame(
      {intern_text(row.file, texts), intern_text(row.function, texts), row.line});
  return row.interned;
}

StringId StackBuilder::intern_text(PickleValue text, const TextPool& texts) {
  if (!text.is(PickleKind::text)) {
    return tables_.strings.intern({});
  }
  const auto number = static_cast<std::size_t>(text.payload());
  if (number >= interned_texts_.size()) {
    interned_texts_.resize(number + 1);
  }
  StringId& interned = interned_texts_[number];
  if (!interned.has_value()) {
    interned = tables_.strings.intern(texts[text]);
  }
  return interned;
}

}  // namespace highwater::detail
