#include "traces/formats/binary/binary_segments.hpp"

#include "traces/formats/binary/binary_tables.hpp"

namespace highwater {
namespace {

// Flags of a segment.
constexpr unsigned kLarge = 1;
constexpr unsigned kExpandable = 2;
constexpr unsigned kPrivatePool = 4;
constexpr unsigned kSegmentFlags = 8;

// Flags of a block, above the two bits of its state.
constexpr unsigned kStateMask = 3;
constexpr unsigned kGapless = 4;       ///< begins where the block before ends
constexpr unsigned kFillsSegment = 8;  ///< ends where the segment ends
constexpr unsigned kRequestedZero = 16;
constexpr unsigned kHasStack = 32;
constexpr unsigned kBlockFlags = 64;

unsigned segment_flags(const RecordedSegment& segment) {
  return (segment.is_large ? kLarge : 0) | (segment.is_expandable ? kExpandable : 0) |
         (segment.pool.is_default() ? 0 : kPrivatePool);
}

/// Addresses as plain numbers: a damaged or odd snapshot may wrap around.
std::uint64_t end_of(const auto& range) {
  return range.address.value() + range.size.count();
}

class SegmentWriter {
 public:
  explicit SegmentWriter(BinaryWriter& out) : out_(out) {}

  void put(const RecordedSegment& segment) {
    const unsigned flags = segment_flags(segment);
    out_.put_byte(static_cast<std::uint8_t>(flags));
    out_.put_distance(end_, segment.address.value());
    out_.put_size(segment.size.count());
    out_.put(segment.stream);
    if ((flags & kPrivatePool) != 0) {
      out_.put(segment.pool.capture);
      out_.put(segment.pool.user);
    }
    put_id(out_, segment.stack);
    end_ = end_of(segment);
    put_blocks(segment);
  }

 private:
  void put_blocks(const RecordedSegment& segment) {
    out_.put(segment.blocks.size());
    std::uint64_t expected = segment.address.value();
    for (const RecordedBlock& block : segment.blocks) {
      put_block(block, expected);
      expected = end_of(block);
    }
  }

  void put_block(const RecordedBlock& block, std::uint64_t expected) {
    const unsigned flags = block_flags(block, expected);
    out_.put_byte(static_cast<std::uint8_t>(flags));
    if ((flags & kGapless) == 0) {
      out_.put_distance(expected, block.address.value());
    }
    if ((flags & kFillsSegment) == 0) {
      out_.put_size(block.size.count());
    }
    if ((flags & kRequestedZero) == 0) {
      out_.put(block.size.count() - block.requested.count());
    }
    if ((flags & kHasStack) != 0) {
      out_.put(block.stack.value());
    }
  }

  [[nodiscard]] unsigned block_flags(const RecordedBlock& block, std::uint64_t expected) const {
    return static_cast<unsigned>(block.state) | (block.address.value() == expected ? kGapless : 0) |
           (end_of(block) == end_ ? kFillsSegment : 0) |
           (block.requested == Bytes{} ? kRequestedZero : 0) |
           (block.stack.has_value() ? kHasStack : 0);
  }

  BinaryWriter& out_;
  std::uint64_t end_ = 0;  ///< of the last segment
};

class SegmentReader {
 public:
  SegmentReader(BinaryReader& in, const EntryLimits& limits) : in_(in), limits_(limits) {}

  RecordedSegment get() {
    RecordedSegment segment;
    const unsigned flags = in_.byte();
    if (flags >= kSegmentFlags) {
      in_.fail("unknown encoding of a segment");
    }
    segment.is_large = (flags & kLarge) != 0;
    segment.is_expandable = (flags & kExpandable) != 0;
    segment.address = Address{in_.distance_from(end_)};
    segment.size = Bytes{in_.size()};
    segment.stream = static_cast<std::uint16_t>(in_.number_below(limits_.streams, "stream"));
    if ((flags & kPrivatePool) != 0) {
      segment.pool.capture = in_.number();
      segment.pool.user = in_.number();
    }
    segment.stack = get_id<StackTag>(in_, limits_.stacks, "stack");
    end_ = end_of(segment);
    get_blocks(segment);
    return segment;
  }

 private:
  void get_blocks(RecordedSegment& segment) {
    std::uint64_t expected = segment.address.value();
    for (std::uint64_t left = in_.number(); left > 0; --left) {
      segment.blocks.push_back(get_block(expected));
      expected = end_of(segment.blocks.back());
    }
  }

  RecordedBlock get_block(std::uint64_t expected) {
    RecordedBlock block;
    const unsigned flags = in_.byte();
    if (flags >= kBlockFlags ||
        (flags & kStateMask) > static_cast<unsigned>(BlockState::active_allocated)) {
      in_.fail("unknown encoding of a block");
    }
    block.state = static_cast<BlockState>(flags & kStateMask);
    block.address = Address{(flags & kGapless) != 0 ? expected : in_.distance_from(expected)};
    block.size = Bytes{(flags & kFillsSegment) != 0 ? end_ - block.address.value() : in_.size()};
    block.requested = Bytes{(flags & kRequestedZero) != 0 ? 0 : block.size.count() - in_.number()};
    if ((flags & kHasStack) != 0) {
      block.stack = StackId{static_cast<std::uint32_t>(in_.number_below(limits_.stacks, "stack"))};
    }
    return block;
  }

  BinaryReader& in_;
  EntryLimits limits_;
  std::uint64_t end_ = 0;
};

}  // namespace

void put_segments(BinaryWriter& out, const std::vector<RecordedSegment>& segments) {
  SegmentWriter writer(out);
  out.put(segments.size());
  for (const RecordedSegment& segment : segments) {
    writer.put(segment);
  }
}

std::vector<RecordedSegment> get_segments(BinaryReader& in, const EntryLimits& limits) {
  SegmentReader reader(in, limits);
  std::vector<RecordedSegment> segments;
  for (std::uint64_t left = in.number(); left > 0; --left) {
    segments.push_back(reader.get());
  }
  return segments;
}

}  // namespace highwater
