// The edit that words ask for, of a run with these tables.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sim/edits/edit.hpp"
#include "tools/edits/edit_words.hpp"

namespace highwater {

/// The run of another file, as it was recorded.
struct OtherRun {
  std::shared_ptr<const RequestTrace> trace;
  Settings settings;
  const VersionPreset* version = nullptr;
  std::vector<std::int64_t> times;  ///< of its events in microseconds; empty: not recorded
  Bytes context;                    ///< what a process takes of a device outside the allocator
};

using RunReader = std::function<OtherRun(const std::string& file)>;

/// @throws UsageError for a site that the run does not have; what `read` throws
Edit edit_of(const EditWords& words, const RequestTrace& trace, const RunReader& read);

}  // namespace highwater
