// The bridge from a closed form to a simulated peak: the difference taken apart, to the byte.
//
// Terms and memory parts are matched by what the terms say they cover. Terms that cover a part in
// common form one line with all parts that any of them covers; a part that no term covers gets its
// own line, with 0 on the form's side. So the lines sum to the form's total on one side, to the
// simulated process's memory on the other, and their differences to the difference of the two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/studies/peak_parts.hpp"
#include "workloads/estimates/terms/estimate.hpp"

namespace highwater {

struct BridgeLine {
  std::string name;                ///< "parameters", "gradients + optimizer states"
  std::vector<std::string> terms;  ///< of the form; empty: it omits this
  PartSet parts;
  std::int64_t estimated = 0;       ///< bytes
  std::int64_t simulated = 0;       ///< bytes
  std::vector<PartDetail> details;  ///< of the simulation, largest first; sum to `simulated`

  [[nodiscard]] std::int64_t difference() const { return simulated - estimated; }
};

struct Bridge {
  std::vector<BridgeLine> lines;  ///< in the order of the parts
  std::int64_t estimated = 0;
  std::int64_t simulated = 0;

  [[nodiscard]] std::int64_t difference() const { return simulated - estimated; }
};

Bridge bridge(const Estimate& estimate, const PeakParts& parts);

}  // namespace highwater
