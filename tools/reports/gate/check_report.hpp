// The report of `check`: one line for each limit, and the same for machines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/studies/gate/check_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// A limit, and what was held against it.
struct CheckRow {
  int device = 0;
  std::optional<Bytes> reserved;  ///< absent for a device that the run does not use
  const LimitCheck* limit = nullptr;
};

/// Every limit of every device, those that only the baseline has last. `result` must outlive them.
std::vector<CheckRow> check_rows(const CheckResult& result);

/// "FAILED: peak reserved ..." or "ok: ...".
std::string check_line(const CheckResult& result, const CheckRow& row);

std::string check_report(const CheckResult& result, OutputFormat format);

}  // namespace highwater
