// A whole recording in the binary format: every field, entries by binary_entries.
#pragma once

#include "traces/formats/binary/binary_stream.hpp"
#include "traces/recording.hpp"

namespace highwater {

void put_recording(BinaryWriter& out, const Recording& recording);

Recording get_recording(BinaryReader& in);

}  // namespace highwater
