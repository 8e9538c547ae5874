// The report of `check`: one line for each limit, and the same for machines.
#pragma once

#include <string>

#include "tools/studies/gate/check_run.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

/// "FAILED: peak reserved ..." or "ok: ...".
std::string check_line(const CheckResult& result, const CheckedDevice& device,
                       const LimitCheck& limit);

std::string check_report(const CheckResult& result, OutputFormat format);

}  // namespace highwater
