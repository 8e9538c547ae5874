#include "sim/replay/decision_log.hpp"

#include <fmt/format.h>

namespace highwater {

std::string decision_line(const NumberedDecision& decision,
                          const std::vector<std::uint64_t>& stream_handles) {
  const Decision& what = decision.decision;
  return fmt::format("{} {} {:#x} {} {}", decision.operation, to_string(what.action),
                     what.address.value(), what.size.count(), stream_handles[what.stream.index()]);
}

}  // namespace highwater
