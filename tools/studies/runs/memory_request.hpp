// The allocator's settings and limits, besides those of the plan or the recording.
#pragma once

#include <optional>
#include <string>

#include "traces/units.hpp"

namespace highwater {

/// The requested settings and limits.
struct MemoryRequest {
  std::optional<std::string> alloc_conf;
  std::optional<Bytes> capacity;  ///< all of it for the allocator; replaces the GPU's own
  std::optional<Bytes> memory_limit;
  std::optional<double> memory_fraction;  ///< 0 to 1

  /// Whether any of the three that bound the memory is given.
  [[nodiscard]] bool has_limit() const { return capacity || memory_limit || memory_fraction; }
};

}  // namespace highwater
