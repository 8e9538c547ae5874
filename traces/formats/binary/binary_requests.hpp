// A request trace in the binary format.
//
// A record is a tag byte followed by whatever the tag leaves open. Bits 0-1 of the tag:
//
//     alloc    the next allocation id; bits 2-3 ShapeGuess
//     free     of an allocation, `distance` before the next id; bit 2: as guessed. Nothing else is
//              set in the event
//     other    any event: bits 2-7 say which of its six fields after the kind follow
//     end      nothing follows
#pragma once

#include "traces/formats/binary/binary_stream.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

void put_requests(BinaryWriter& out, const RequestTrace& trace);

RequestTrace get_requests(BinaryReader& in);

}  // namespace highwater
