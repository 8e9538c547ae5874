// The final segments and blocks of one device in the binary format.
//
// Blocks tile their segment, so of an ordinary block only the size is stored, and of the last one
// not even that.
#pragma once

#include <vector>

#include "traces/formats/binary/binary_entries.hpp"
#include "traces/formats/binary/binary_stream.hpp"
#include "traces/recording.hpp"

namespace highwater {

void put_segments(BinaryWriter& out, const std::vector<RecordedSegment>& segments);

std::vector<RecordedSegment> get_segments(BinaryReader& in, const EntryLimits& limits);

}  // namespace highwater
