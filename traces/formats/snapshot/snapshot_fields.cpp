// The meaning of each key of each kind of record (the member functions of SnapshotBuilder that
// name one).
#include <string_view>

#include "traces/formats/snapshot/snapshot_builder.hpp"

namespace highwater::detail {

void SnapshotBuilder::set_fields(PickleValue record, std::span<const PickleValue> items) {
  if (record.is(kEntry)) [[likely]] {
    return set_all(store_.entries[record.payload()], items);
  }
  if (record.is(kSegment)) {
    return set_all(store_.segments[static_cast<std::size_t>(record.payload())], items);
  }
  if (record.is(kBlock)) {
    return set_all(store_.blocks[static_cast<std::size_t>(record.payload())], items);
  }
  if (!record.is(kFrame)) {
    throw FieldProblem{"", "dict items are put into " + store_.describe(record)};
  }
  FrameRow skipped;  // checked alike in both modes
  set_all(store_.stacks.keeps() ? store_.stacks.frame(record) : skipped, items);
}

template <class Row>
void SnapshotBuilder::set_all(Row& row, std::span<const PickleValue> items) {
  for (std::size_t i = 0; i < items.size(); i += 2) {
    if (!items[i].is(PickleKind::text)) [[unlikely]] {
      throw FieldProblem{"", "a key is " + store_.describe(items[i]) + " instead of a string"};
    }
    set(row, items[i], items[i + 1]);
  }
}

void SnapshotBuilder::set(RecordedEntry& entry, PickleValue key, PickleValue value) {
  const Word word = word_of(key);
  store_.entry_keys.insert(word);
  switch (word) {
    case Word::action:
      entry.action = action(value);
      return;
    case Word::addr:
    case Word::device_free:  // the same C++ field, under another name when the action is "oom"
      entry.address = Address{store_.natural(word, value)};
      return;
    case Word::size:
      entry.size = Bytes{store_.natural(word, value)};
      return;
    case Word::stream:
      entry.stream = store_.stream(word, value);
      return;
    case Word::time_us:
      entry.time_us = store_.integer(word, value);
      return;
    case Word::frames:
      entry.stack = store_.stack(word, value);
      return;
    case Word::pool_id:
      entry.pool = pool_number(value);
      return;
    case Word::compile_context:
    case Word::user_metadata:
    case Word::internal_metadata:
      return;
    default:
      store_.count_unknown_key(KeyOwner::trace_entry, key);
  }
}

RecordedAction SnapshotBuilder::action(PickleValue value) {
  const Word word = word_of(store_.text(Word::action, value));
  if (word >= Word::alloc && word <= Word::oom) [[likely]] {
    const auto first = static_cast<std::uint8_t>(Word::alloc);
    return static_cast<RecordedAction>(static_cast<std::uint8_t>(word) - first);
  }
  const auto number = store_.other_actions.number(value.payload());
  return static_cast<RecordedAction>(number ? kFirstOtherAction + *number : kFurtherActions);
}

std::uint8_t SnapshotBuilder::pool_number(PickleValue value) {
  const auto number = store_.pools.number(store_.pool(Word::pool_id, value));
  if (!number) {
    throw FieldProblem{"pool_id", "the trace uses more than the supported 255 memory pools"};
  }
  return static_cast<std::uint8_t>(*number);
}

void SnapshotBuilder::set(SegmentRow& segment, PickleValue key, PickleValue value) {
  const Word word = word_of(key);
  store_.segment_keys.insert(word);
  switch (word) {
    case Word::device:
      segment.device = store_.device_index(value);
      return;
    case Word::address:
      segment.address = store_.natural(word, value);
      return;
    case Word::total_size:
      segment.size = store_.natural(word, value);
      return;
    case Word::stream:
      segment.stream = store_.stream(word, value);
      return;
    case Word::segment_type:
      segment.is_large = is_large(value);
      return;
    case Word::segment_pool_id:
      segment.pool = store_.pool(word, value);
      return;
    case Word::is_expandable:
      segment.is_expandable = store_.boolean(word, value);
      return;
    case Word::frames:
      segment.stack = store_.stack(word, value);
      return;
    case Word::blocks:
      segment.blocks = store_.list(word, value);
      return;
    case Word::allocated_size:
    case Word::active_size:
    case Word::requested_size:
      return;  // sums over the blocks
    default:
      store_.count_unknown_key(KeyOwner::segment, key);
  }
}

bool SnapshotBuilder::is_large(PickleValue value) const {
  const Word word = word_of(value);
  if (word != Word::small && word != Word::large) {
    store_.refuse(Word::segment_type, "\"small\" or \"large\"", value);
  }
  return word == Word::large;
}

void SnapshotBuilder::set(BlockRow& block, PickleValue key, PickleValue value) {
  const Word word = word_of(key);
  store_.block_keys.insert(word);
  switch (word) {
    case Word::address:
      block.address = store_.natural(word, value);
      return;
    case Word::size:
      block.size = store_.natural(word, value);
      return;
    case Word::requested_size:
      block.requested = store_.natural(word, value);
      return;
    case Word::state:
      block.state = block_state(value);
      return;
    case Word::frames:
      block.stack = store_.stack(word, value);
      return;
    case Word::history:
      block.history = store_.list(word, value);
      return;
    default:
      store_.count_unknown_key(KeyOwner::block, key);
  }
}

// "active_awaiting_free" is the name in PyTorch's documentation, not what it writes. An unknown
// state is taken to mean memory in use; anything else would lose the block.
BlockState SnapshotBuilder::block_state(PickleValue value) const {
  switch (word_of(store_.text(Word::state, value))) {
    case Word::inactive:
      return BlockState::inactive;
    case Word::active_pending_free:
    case Word::active_awaiting_free:
      return BlockState::active_pending_free;
    default:
      return BlockState::active_allocated;
  }
}

void SnapshotBuilder::set(FrameRow& frame, PickleValue key, PickleValue value) {
  const Word word = word_of(key);
  switch (word) {
    case Word::filename:
      frame.file = store_.text(word, value);
      return;
    case Word::name:
      frame.function = store_.text(word, value);
      return;
    case Word::line:
      // C++ writes 2^64-1 where the line is unknown.
      frame.line = value.is(PickleKind::wide_unsigned) ? -1 : store_.integer(word, value);
      return;
    default:
      store_.count_unknown_key(KeyOwner::frame, key);
  }
}

}  // namespace highwater::detail
