// Reads a memory snapshot that was written as JSON: json.dump(torch.cuda.memory._snapshot(), file).
//
// The text is turned into the pickle that Python would have written, piece by piece, and read as
// every pickle is: one reader knows what a snapshot is, and bounds what it may take.
#pragma once

#include <cstddef>
#include <span>

#include "traces/formats/snapshot/torch_snapshot.hpp"

namespace highwater {

/// @throws InputError with field path, or with the byte where it is no JSON
Recording read_json_snapshot(ByteSource& source, const SnapshotOptions& options);

/// Whether the first bytes look like JSON: an object or a list.
bool looks_like_json(std::span<const std::byte> first_bytes);

}  // namespace highwater
