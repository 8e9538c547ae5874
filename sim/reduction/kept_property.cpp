#include "sim/reduction/kept_property.hpp"

#include "sim/replay/fragmentation.hpp"
#include "traces/overloaded.hpp"

namespace highwater {

bool is_shown_by(const Usage& peak, const KeptProperty& property) {
  return std::visit(Overloaded{[](const KeptFailure& /*failure*/) { return false; },
                               [&](const KeptPeak& kept) { return peak.reserved >= kept.least; },
                               [&](const KeptFragmentation& kept) {
                                 return unused_share(peak.active, peak.reserved) >= kept.least;
                               }},
                    property);
}

}  // namespace highwater
