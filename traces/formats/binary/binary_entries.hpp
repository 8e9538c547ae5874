// The entries of one device in the binary format: the bulk of a recording.
//
// A record is a tag byte followed by whatever the tag leaves open. Bits 0-2 of the tag give the
// kind:
//
//     alloc            bits 3-4 AddressGuess, 5-6 ShapeGuess
//     free_pair        free_requested and the free_completed that follows it at once, alike in all
//                      but time; bits 3-4 time between them, 3 = given; bit 5 the stack, bit 6 the
//                      distance is as guessed
//     free_requested   bits 5-6 as for free_pair
//     free_completed   the same
//     other            any entry in full: action, shape, distance of the address from the cursor
//     other_pair       a pair as in free_pair, of a block allocated before the trace begins
//     end              nothing follows
//
// Bit 7: the time is that of the entry before; otherwise the difference follows the tag.
#pragma once

#include "traces/formats/binary/binary_stream.hpp"
#include "traces/recording.hpp"

namespace highwater {

void put_entries(BinaryWriter& out, const ChunkedVector<RecordedEntry>& entries);

/// The limits of what entries may refer to; a file that exceeds them is refused.
struct EntryLimits {
  std::size_t stacks = 0;
  std::size_t streams = 0;
  std::size_t pools = 0;
};

ChunkedVector<RecordedEntry> get_entries(BinaryReader& in, const EntryLimits& limits);

}  // namespace highwater
