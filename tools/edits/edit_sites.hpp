// The call sites that an edit names, among those of a run.
#pragma once

#include <string>
#include <string_view>

#include "sim/edits/edit.hpp"

namespace highwater {

/// Sites whose label (tools/text/site_label.hpp) matches `pattern` (tools/text/name_pattern.hpp).
/// @throws UsageError that names the sites there are, if no allocation has one of them
SiteSet sites_matching(std::string_view pattern, const RequestTrace& trace);

}  // namespace highwater
