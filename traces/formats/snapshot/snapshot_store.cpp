#include "traces/formats/snapshot/snapshot_store.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace highwater::detail {
namespace {

constexpr std::array<std::string_view, kRecordKinds> kRecordNames{
    "a trace entry", "a segment", "a block", "a stack frame", "a list of stack frames"};

}  // namespace

std::string SnapshotStore::mismatch(std::string_view expected, PickleValue found) const {
  const bool is_dict = found.is(PickleKind::dict) || found.is(PickleKind::new_dict);
  const bool is_list = found.is(PickleKind::list) || found.is(PickleKind::new_list);
  const bool wants_list = expected.starts_with("a list of ");
  const bool wants_dict = !wants_list && std::ranges::count(kRecordNames, expected) != 0;
  return fmt::format("expected {}, found {}{}", expected, describe(found),
                     is_dict && wants_dict   ? " with other keys"
                     : is_list && wants_list ? " of other items"
                                             : "");
}

std::string SnapshotStore::describe(PickleValue value) const {
  if (!value.is_record()) {
    return objects.describe(value);
  }
  return std::string(kRecordNames.at(static_cast<std::size_t>(value.kind()) -
                                     static_cast<std::size_t>(PickleKind::first_record)));
}

void SnapshotStore::refuse(Word key, std::string_view expected, PickleValue found) const {
  throw FieldProblem{std::string(kWords.at(static_cast<std::size_t>(key))),
                     mismatch(expected, found)};
}

std::uint64_t SnapshotStore::natural(Word key, PickleValue value) const {
  const auto number = objects.as_signed(value);
  if (!number || *number < 0) [[unlikely]] {
    refuse(key, "a number from 0 to 2^63-1", value);
  }
  return static_cast<std::uint64_t>(*number);
}

std::int64_t SnapshotStore::integer(Word key, PickleValue value) const {
  const auto number = objects.as_signed(value);
  if (!number) [[unlikely]] {
    refuse(key, "a signed 64-bit number", value);
  }
  return *number;
}

bool SnapshotStore::boolean(Word key, PickleValue value) const {
  if (!value.is(PickleKind::boolean)) {
    refuse(key, "True or False", value);
  }
  return value.payload() != 0;
}

PickleValue SnapshotStore::text(Word key, PickleValue value) const {
  if (!value.is(PickleKind::text)) {
    refuse(key, "a string", value);
  }
  return value;
}

PickleValue SnapshotStore::list(Word key, PickleValue value) const {
  value = objects.current(value);
  if (!value.is(PickleKind::list) && !value.is(PickleKind::new_list)) {
    refuse(key, "a list", value);
  }
  return value;
}

StackId SnapshotStore::stack(Word key, PickleValue value) const {
  value = objects.current(value);
  if (value.is(kStack)) [[likely]] {
    return stacks.list_id(value);
  }
  const bool is_empty = value.is(PickleKind::new_list) ||
                        (value.is(PickleKind::list) && objects.list_size(value) == 0);
  if (!is_empty && !value.is(PickleKind::none)) {
    refuse(key, "a list of stack frames", value);
  }
  return StackId{};
}

PoolId SnapshotStore::pool(Word key, PickleValue value) const {
  const auto ids = objects.as_pair(objects.current(value));
  if (!ids || (*ids)[0] < 0 || (*ids)[1] < 0) {
    refuse(key, "a tuple of two numbers from 0", value);
  }
  return {static_cast<std::uint64_t>((*ids)[0]), static_cast<std::uint64_t>((*ids)[1])};
}

int SnapshotStore::device_index(PickleValue value) const {
  const auto index = objects.as_signed(value);
  if (!index || *index < 0 || *index >= static_cast<std::int64_t>(kMaxDevices)) {
    refuse(Word::device, "a device index from 0 to 127", value);
  }
  return static_cast<int>(*index);
}

std::uint16_t SnapshotStore::stream(Word key, PickleValue value) {
  const auto handle = objects.as_bits(value);
  if (!handle) [[unlikely]] {
    refuse(key, "a stream handle (a 64-bit number)", value);
  }
  return number_stream(*handle);
}

std::uint64_t SnapshotStore::memory() const {
  constexpr std::uint64_t kMapNode = 80;
  return objects.memory() + texts.memory() + stacks.memory() +
         entries.size() * sizeof(RecordedEntry) + segments.capacity() * sizeof(SegmentRow) +
         blocks.capacity() * sizeof(BlockRow) +
         (streams.values().size() + unknown_keys.size()) * kMapNode;
}

std::uint16_t SnapshotStore::default_stream() {
  return number_stream(0);
}

std::uint16_t SnapshotStore::number_stream(std::uint64_t handle) {
  const auto number = streams.number(handle);
  if (!number) [[unlikely]] {
    throw FieldProblem{"stream", "the file uses more than the supported 65535 streams"};
  }
  return static_cast<std::uint16_t>(*number);
}

std::string SnapshotStore::other_action_name(std::uint8_t action) const {
  if (action == kFurtherActions) {
    return "(further names)";
  }
  const std::uint64_t text_id = other_actions.values()[action - kFirstOtherAction];
  return std::string(texts[PickleValue{PickleKind::text, text_id}]);
}

}  // namespace highwater::detail
