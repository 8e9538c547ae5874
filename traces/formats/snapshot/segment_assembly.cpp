// segments: blocks get their addresses and must cover their segment without a gap.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "traces/formats/snapshot/snapshot_assembly.hpp"

namespace highwater::detail {
namespace {

class SegmentAssembly {
 public:
  SegmentAssembly(SnapshotStore& store, ExpansionBudget& budget, std::size_t index)
      : store_(store), budget_(budget), path_(fmt::format("segments[{}]", index)) {}

  RecordedSegment assemble(const SegmentRow& row) {
    budget_.spend(sizeof(RecordedSegment));
    RecordedSegment segment;
    segment.address = Address{required(path_, "address", row.address)};
    segment.size = Bytes{required(path_, "total_size", row.size)};
    segment.stream = row.stream == kNoStream ? store_.default_stream() : row.stream;
    segment.is_large = required(path_, "segment_type", row.is_large);
    segment.is_expandable = row.is_expandable;
    segment.pool = row.pool;
    segment.stack = store_.stacks.interned(row.stack);
    take_blocks(segment, row.blocks);
    return segment;
  }

  [[nodiscard]] int device(const SegmentRow& row) const {
    return required(path_, "device", row.device);
  }

 private:
  void take_blocks(RecordedSegment& segment, PickleValue blocks) {
    Address next = segment.address;
    store_.objects.for_each_item(store_.objects.current(blocks), [&](PickleValue value) {
      const std::string path = fmt::format("{}.blocks[{}]", path_, segment.blocks.size());
      if (!value.is(kBlock)) {
        throw PathProblem{path, store_.mismatch("a block", value)};
      }
      budget_.spend(sizeof(RecordedBlock));
      const BlockRow& row = store_.blocks[static_cast<std::size_t>(value.payload())];
      segment.blocks.push_back(block(row, {next, segment.range().end() - next}, path));
      next = segment.blocks.back().range().end();
    });
    if (next != segment.range().end() || segment.blocks.empty()) {
      throw PathProblem{path_ + ".total_size",
                        fmt::format("the blocks add up to {} bytes, but the segment has {}",
                                    (next - segment.address).count(), segment.size.count())};
    }
  }

  // `room` is the part of the segment that the previous blocks leave free.
  RecordedBlock block(const BlockRow& row, AddressRange room, const std::string& path) {
    RecordedBlock block;
    block.address = room.begin;
    if (row.address != kNotGiven && row.address != room.begin.value()) {
      throw PathProblem{path + ".address",
                        fmt::format("{:#x} does not follow the previous blocks, which end at {:#x}",
                                    row.address, room.begin.value())};
    }
    block.size = Bytes{required(path, "size", row.size)};
    if (block.size == Bytes{} || block.size > room.size) {
      throw PathProblem{path + ".size", fmt::format("{} bytes, but only {} are left in the segment",
                                                    block.size.count(), room.size.count())};
    }
    block.state = row.state;
    finish(block, row);
    return block;
  }

  // What the program asked for, and where: since torch 2.1 the block itself has it; before that,
  // the newest item of its history did. An inactive block keeps the value of its last use, which
  // means nothing.
  void finish(RecordedBlock& block, const BlockRow& row) {
    const auto [real_size, stack] = newest_use(row);
    block.stack = store_.stacks.interned(row.stack.has_value() ? row.stack : stack);
    if (block.state != BlockState::inactive) {
      block.requested =
          Bytes{row.requested != kNotGiven ? row.requested : real_size.value_or(row.size)};
    }
  }

  struct Use {
    std::optional<std::uint64_t> real_size;
    StackId stack;
  };

  Use newest_use(const BlockRow& row) {
    Use use;
    const auto items = store_.objects.items_of(store_.objects.front(row.history));
    budget_.spend(sizeof(PickleValue), items.size());
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      const Word key = word_of(items[i]);
      if (key == Word::real_size) {
        use.real_size = store_.natural(key, items[i + 1]);
      } else if (key == Word::frames) {
        use.stack = store_.stack(key, items[i + 1]);
      }
    }
    return use;
  }

  static std::uint64_t required(const std::string& path, const char* key, std::uint64_t value) {
    return required(path, key, value == kNotGiven ? std::nullopt : std::optional(value));
  }

  template <class T>
  static T required(const std::string& path, const char* key, std::optional<T> value) {
    if (!value) {
      throw PathProblem{path, fmt::format("missing \"{}\"", key)};
    }
    return *value;
  }

  SnapshotStore& store_;
  ExpansionBudget& budget_;
  std::string path_;
};

}  // namespace

void assemble_segments(SnapshotStore& store, PickleValue segments, ExpansionBudget& budget,
                       DeviceMap& devices) {
  std::size_t index = 0;
  store.objects.for_each_item(store.list(Word::segments, segments), [&](PickleValue value) {
    if (!value.is(kSegment)) {
      throw PathProblem{fmt::format("segments[{}]", index), store.mismatch("a segment", value)};
    }
    const SegmentRow& row = store.segments[static_cast<std::size_t>(value.payload())];
    SegmentAssembly assembly(store, budget, index++);
    RecordedDevice& device = devices[assembly.device(row)];
    device.index = *row.device;
    device.segments.push_back(assembly.assemble(row));
  });
  for (auto& [number, device] : devices) {
    std::ranges::stable_sort(device.segments, {}, &RecordedSegment::address);
  }
}

}  // namespace highwater::detail
