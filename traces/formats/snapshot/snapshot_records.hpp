// The rows that the dicts of a snapshot become while the file is read.
//
// A trace entry already has its final 32-byte form, but three fields mean something else until the
// end of the file: `stream` and `pool` number the handles and pools of the whole file, and `stack`
// numbers the lists of frames. Which of them a device has is known only at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "traces/formats/pickle/container_builder.hpp"
#include "traces/recording.hpp"

namespace highwater::detail {

/// An address or size that the file did not give; the file's own are below 2^63.
constexpr std::uint64_t kNotGiven = ~std::uint64_t{0};

/// Index of a stream that the file did not give.
constexpr std::uint16_t kNoStream = 0xffff;

/// What dicts and lists of a snapshot become: dicts with an "action", with "blocks", with "state"
/// and "size", with a "filename"; lists of frames.
constexpr PickleKind kEntry = record_kind(0);
constexpr PickleKind kSegment = record_kind(1);
constexpr PickleKind kBlock = record_kind(2);
constexpr PickleKind kFrame = record_kind(3);
constexpr PickleKind kStack = record_kind(4);
constexpr std::size_t kRecordKinds = 5;

struct BlockRow {
  std::uint64_t address = kNotGiven;
  std::uint64_t size = kNotGiven;
  std::uint64_t requested = kNotGiven;
  PickleValue history;
  StackId stack;
  BlockState state = BlockState::inactive;
};

struct SegmentRow {
  std::uint64_t address = kNotGiven;
  std::uint64_t size = kNotGiven;
  PickleValue blocks;
  PoolId pool;
  StackId stack;
  std::optional<int> device;
  std::optional<bool> is_large;
  std::uint16_t stream = kNoStream;
  bool is_expandable = false;
};

/// Frames are few: each distinct one is one dict, shared by all tracebacks that contain it.
struct FrameRow {
  PickleValue file;
  PickleValue function;
  std::int64_t line = 0;
  FrameId interned;  ///< set when the first stack uses it; no change is accepted from then on
};

/// The entries of all devices in file order. Chunks can be freed while the entries move to their
/// devices, so the move does not need a second copy of everything.
class EntryTable {
 public:
  std::uint64_t push_back(const RecordedEntry& entry) {
    if (size_ % kChunk == 0) {
      chunks_.push_back(std::make_unique<RecordedEntry[]>(kChunk));
    }
    chunks_.back()[size_ % kChunk] = entry;
    return size_++;
  }

  [[nodiscard]] RecordedEntry& operator[](std::uint64_t i) {
    return chunks_[i / kChunk][i % kChunk];
  }

  [[nodiscard]] std::uint64_t size() const { return size_; }

  /// Frees the chunks that lie entirely before entry `i`.
  void release_before(std::uint64_t i) {
    for (; released_ < i / kChunk; ++released_) {
      chunks_[released_].reset();
    }
  }

 private:
  // The chunk of the table that the entries move to, so malloc can reuse one for the other.
  static constexpr std::size_t kChunk = ChunkedVector<RecordedEntry>::kChunk;

  std::vector<std::unique_ptr<RecordedEntry[]>> chunks_;
  std::uint64_t size_ = 0;
  std::size_t released_ = 0;
};

}  // namespace highwater::detail
