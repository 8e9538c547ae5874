// What is in a file: figures of the whole and of each device, and the call sites that hold most.
#pragma once

#include <string>
#include <vector>

#include "tools/files/input.hpp"
#include "tools/text/metrics.hpp"

namespace highwater {

/// A call site and what it holds at the peak.
struct SiteHolding {
  std::string label;
  Bytes bytes;
  std::uint64_t blocks = 0;
  double share = 0;  ///< of all live bytes
};

/// One device of a recording, or the one trace of a request file.
struct InfoSection {
  MetricList metrics;
  std::vector<SiteHolding> top_sites;
  std::vector<std::string> notes;
  std::string viewer;  ///< what memory_viz draws of it, in words; empty: a request file
};

struct FileInfo {
  std::string name;
  MetricList metrics;  ///< about the whole file
  std::vector<InfoSection> sections;
};

/// `top` sites per device. @throws InputError for wrong settings inside the file.
FileInfo describe_file(const TraceFile& file, const std::string& name, std::size_t top);

}  // namespace highwater
