// Turns the dicts and lists of a snapshot into rows, each as soon as its contents are known.
//
// A dict is recognised by its keys: "action" makes a trace entry, "filename" a frame, "blocks" or
// "total_size" a segment, "state" and "size" a block; any other stays a small dict. Fields that
// Highwater does not use are dropped at once. A dict that gets further items later (any writer may
// do so) is updated in place.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "traces/formats/pickle/container_builder.hpp"
#include "traces/formats/snapshot/snapshot_store.hpp"

namespace highwater::detail {

class SnapshotBuilder final : public ContainerBuilder {
 public:
  explicit SnapshotBuilder(SnapshotStore& store) : store_(store) {}

  PickleValue append(PickleValue list, std::span<const PickleValue> items,
                     std::uint64_t bytes_read) override;
  PickleValue set_items(PickleValue dict, std::span<const PickleValue> items) override;
  PickleValue set_plain_items(PickleValue dict, std::span<const PickleValue> items) override;
  [[nodiscard]] PickleKind items_of_list(std::span<const PickleValue> stack) const override;
  void check_item(PickleKind kind, PickleValue before, PickleValue item) const override;
  [[nodiscard]] bool is_unused_place(std::string_view path) const override;

  [[nodiscard]] bool is_list(PickleValue record) const override { return record.is(kStack); }

  [[nodiscard]] std::uint64_t memory() const override { return store_.memory(); }

  [[nodiscard]] const PickleAdvice& advice() const override;

 private:
  [[nodiscard]] bool is_any_list(PickleValue value) const;
  [[nodiscard]] bool is_any_dict(PickleValue value) const;
  [[nodiscard]] bool may_come(PickleKind kind, PickleValue before, PickleValue item) const;
  PickleValue extend(PickleValue list, std::span<const PickleValue> items,
                     std::uint64_t bytes_read);
  PickleValue add_plain(PickleValue dict, KeySet keys, std::span<const PickleValue> items);
  PickleValue replace(PickleValue container, PickleValue filled);
  PickleValue give_shape(PickleValue dict, KeySet keys, std::span<const PickleValue> items);
  PickleValue make_record(KeySet keys);
  void set_fields(PickleValue record, std::span<const PickleValue> items);
  template <class Row>
  void set_all(Row& row, std::span<const PickleValue> items);
  void set(RecordedEntry& entry, PickleValue key, PickleValue value);
  void set(SegmentRow& segment, PickleValue key, PickleValue value);
  void set(BlockRow& block, PickleValue key, PickleValue value);
  void set(FrameRow& frame, PickleValue key, PickleValue value);
  RecordedAction action(PickleValue value);
  std::uint8_t pool_number(PickleValue value);
  [[nodiscard]] bool is_large(PickleValue value) const;
  [[nodiscard]] BlockState block_state(PickleValue value) const;

  SnapshotStore& store_;
};

}  // namespace highwater::detail
