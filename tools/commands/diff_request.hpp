// The command line of `diff`: which sides, under which settings, seen how.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "sim/diff/trace_diff.hpp"
#include "tools/options/command_line.hpp"
#include "tools/options/memory_options.hpp"
#include "tools/options/reading_options.hpp"
#include "tools/reports/diff/diff_report.hpp"
#include "tools/studies/gate/budget.hpp"
#include "workloads/plan/options/option_table.hpp"

namespace highwater {

/// What a side of the peak view is: a file, and what it is replayed under if not its own settings.
struct DiffSideRequest {
  std::string path;
  MemoryRequest memory;
  std::optional<std::string> torch;  ///< the release whose allocator serves it

  /// Whether it is replayed under other settings than it ran under.
  [[nodiscard]] bool has_settings() const {
    return memory.alloc_conf || memory.has_limit() || torch;
  }
};

struct DiffRequest {
  DiffSideRequest first;
  std::optional<DiffSideRequest> second;  ///< absent: the simulation of the first
  bool shows_peak = false;
  bool shows_requests = false;
  bool shows_blocks = false;
  OptionWords engine;         ///< --engine and --python of a simulated second side
  std::optional<int> device;  ///< of the peak view
  std::size_t top = 0;        ///< rows of each list of the peak view
  ReadingOptions reading;
  DiffView view;
  DiffOptions options;
  std::optional<GrowthLimit> fail_above;  ///< how much more B may reserve
  OutputFormat format = OutputFormat::table;
};

/// @throws UsageError, HelpRequested
DiffRequest read_diff_request(const Arguments& arguments);

}  // namespace highwater
