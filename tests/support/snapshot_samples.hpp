// The parts of a small snapshot, each a valid value that tests change in one place.
#pragma once

#include <filesystem>

#include "tests/support/pickle_builder.hpp"

namespace highwater::test {

// A small snapshot with one segment of two blocks and a trace of two entries.
PyValue sample_frame();
PyValue sample_entry();
PyValue sample_block();
PyValue sample_segment();
PyValue sample_settings();
PyValue sample_snapshot();
/// A snapshot with these entries on device 0, and nothing else.
PyValue snapshot_of_entries(PyValue::List entries);
PyValue snapshot_of_segments(PyValue::List segments);

void write_snapshot(const std::filesystem::path& path, const PyValue& snapshot);

}  // namespace highwater::test
