// A scan as an SQLite database, for questions of the user's own:
//
//   ranks(id, file, rank, device, peak_reserved_bytes, ...)     the columns of the JSON
//   held(rank_id, kind, name, bytes)                            at the highest live bytes
//   differences(rank_id, kind, name, bytes, usual_bytes)        of outliers
#pragma once

#include "tools/studies/scan/scan_run.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {

/// @throws Error if the medium accepts no more
void write_scan_database(const Scan& scan, ByteSink& sink);

}  // namespace highwater
