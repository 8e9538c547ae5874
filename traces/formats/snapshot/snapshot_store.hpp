// Everything known about a snapshot while it is being read, and checked access to single fields.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/formats/pickle/pickle_store.hpp"
#include "traces/formats/snapshot/numbering.hpp"
#include "traces/formats/snapshot/snapshot_records.hpp"
#include "traces/formats/snapshot/snapshot_words.hpp"
#include "traces/formats/snapshot/stack_builder.hpp"

namespace highwater::detail {

/// Whose unknown keys are counted together, spelled as in Recording::unknown_keys.
enum class KeyOwner : std::uint8_t {
  trace_entry,
  segment,
  block,
  frame,
  settings,
  annotation,
  top
};

/// RecordedAction values from here on number the names of unknown actions; the last one stands for
/// all names beyond the limit.
constexpr std::uint8_t kFirstOtherAction = kRecordedActionCount;
constexpr std::uint8_t kFurtherActions = 0xff;

/// c10::DeviceIndex is an int8_t.
constexpr std::uint64_t kMaxDevices = 128;

/// What a trace entry is before its fields are known.
constexpr RecordedEntry kNewEntry{
    .address = Address{kNotGiven}, .size = Bytes{kNotGiven}, .stack = {}, .stream = kNoStream};

struct SnapshotStore : PickleStore {
  explicit SnapshotStore(StackMode mode) : PickleStore(kWords), stacks(mode) {
    pools.number(PoolId{});
  }

  StackBuilder stacks;
  EntryTable entries;
  std::vector<SegmentRow> segments;
  std::vector<BlockRow> blocks;
  Numbering<std::uint64_t> streams{kNoStream};
  Numbering<PoolId> pools{std::size_t{1} << 8};
  Numbering<std::uint64_t> other_actions{kFurtherActions - kFirstOtherAction};  ///< text ids
  std::map<std::pair<KeyOwner, std::uint64_t>, std::uint64_t> unknown_keys;     ///< by text id
  KeySet entry_keys;  ///< all keys that any entry had; likewise below
  KeySet segment_keys;
  KeySet block_keys;

  void count_unknown_key(KeyOwner owner, PickleValue key) {
    const PickleValue name = key.is(PickleKind::text) ? key : texts.intern("(not a string)");
    ++unknown_keys[{owner, name.payload()}];
  }

  // Each returns the value or throws a FieldProblem that names `key`.
  [[nodiscard]] std::uint64_t natural(Word key, PickleValue value) const;
  [[nodiscard]] std::int64_t integer(Word key, PickleValue value) const;
  [[nodiscard]] bool boolean(Word key, PickleValue value) const;
  [[nodiscard]] PickleValue text(Word key, PickleValue value) const;
  [[nodiscard]] PickleValue list(Word key, PickleValue value) const;
  [[nodiscard]] StackId stack(Word key, PickleValue value) const;
  [[nodiscard]] PoolId pool(Word key, PickleValue value) const;
  [[nodiscard]] int device_index(PickleValue value) const;
  [[nodiscard]] std::uint16_t stream(Word key, PickleValue value);

  /// Bytes of all that is kept.
  [[nodiscard]] std::uint64_t memory() const;

  /// The number of stream 0, for records that name none.
  [[nodiscard]] std::uint16_t default_stream();

  /// The name of the action that was given this number.
  [[nodiscard]] std::string other_action_name(std::uint8_t action) const;

  /// "a list", "the number -5", ...: for messages.
  [[nodiscard]] std::string describe(PickleValue value) const;

  /// "expected EXPECTED, found ..."; of a dict or list in the place of another one says so.
  [[nodiscard]] std::string mismatch(std::string_view expected, PickleValue found) const;

  /// @throws FieldProblem with the mismatch
  [[noreturn]] void refuse(Word key, std::string_view expected, PickleValue found) const;

 private:
  std::uint16_t number_stream(std::uint64_t handle);
};

}  // namespace highwater::detail
