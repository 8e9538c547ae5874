// A second process on the device of a replay, with an allocator and a CUDA context of its own.
//
// The driver counts the memory of all processes together: cudaMalloc fails, and cudaMemGetInfo
// answers, by what both have taken. Nothing else is shared: each process has addresses, cached
// segments and settings of its own, and neither can release what the other caches.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "allocator/settings/settings.hpp"
#include "allocator/settings/version.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// What runs beside a trace, and when.
struct Neighbour {
  std::shared_ptr<const RequestTrace> run;
  Settings settings;
  const VersionPreset* version = nullptr;
  Bytes context;  ///< what its CUDA context takes from the device all the time
  /// By event of the trace: how many events of `run` come before it; ascending. Of a trace that has
  /// become longer or shorter since, places count in proportion.
  std::vector<std::uint32_t> turns;
};

}  // namespace highwater
