// The call sites that a report names, each once: strings are long and recur in every map.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <boost/json/array.hpp>

#include "tools/html/report_run.hpp"

namespace highwater {

class ReportSites {
 public:
  /// `run` must outlive the sites.
  explicit ReportSites(const ReportRun& run) : run_(&run) {}

  /// The number of the site that asked for `allocation`; -1 where it is not known.
  std::int64_t of(AllocationId allocation);

  /// The number of the site that `stack` names.
  std::int64_t of(StackId stack);

  /// The names by number.
  [[nodiscard]] boost::json::array names() const;

 private:
  const ReportRun* run_;
  std::map<StackId, std::int64_t> by_stack_;
  std::map<std::string, std::int64_t> by_name_;
  std::vector<std::string> names_;
};

/// `text` cut to a length that a report can show.
std::string shortened(std::string text, std::size_t limit = 300);

}  // namespace highwater
