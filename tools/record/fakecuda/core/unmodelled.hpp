// Calls of functions that are stubs: a list of what a recording relies on without a model.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace highwater::fakecuda {

/// The stubs of one library: names[i] was called calls[i] times.
struct StubTable {
  const char* const* names;
  const std::atomic<std::uint64_t>* calls;
  std::size_t count;
};

/// Called once by every library that has stubs, while it is loaded. The table lives as long as the
/// process.
void add_stub_table(StubTable table);

/// "name count" lines of the stubs that were called, sorted by name.
std::string unmodelled_calls();

}  // namespace highwater::fakecuda
