// Reconciles a closed form with a simulated peak: their difference, line by line and to the byte
// (the option --bridge).
//
// Terms and memory parts are matched by what the terms say they cover. Terms that cover a part in
// common form one line with all parts that any of them covers; a part that no term covers gets its
// own line, with 0 on the form's side. So the lines sum to the form's total on one side, to the
// simulated process's memory on the other, and their differences to the difference of the two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/studies/runs/process_breakdown.hpp"
#include "workloads/estimates/terms/estimate.hpp"

namespace highwater {

struct ReconciliationLine {
  std::string name;                ///< "parameters", "gradients + optimizer states"
  std::vector<std::string> terms;  ///< of the form; empty: it omits this
  PartSet parts;
  std::int64_t estimated = 0;  ///< bytes
  std::int64_t simulated = 0;  ///< bytes
  std::vector<Holder<std::string>>
      details;  ///< of the simulation, largest first; sum to `simulated`

  [[nodiscard]] std::int64_t difference() const { return simulated - estimated; }
};

struct Reconciliation {
  std::vector<ReconciliationLine> lines;  ///< in the order of the parts
  std::int64_t estimated = 0;
  std::int64_t simulated = 0;

  [[nodiscard]] std::int64_t difference() const { return simulated - estimated; }
};

Reconciliation reconcile(const Estimate& estimate, const ProcessBreakdown& parts);

}  // namespace highwater
