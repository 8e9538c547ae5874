// Files that the build put into the program: the report's template, scripts and styles.
#pragma once

#include <string_view>

namespace highwater {

/// The content of tools/report/NAME, or of a charting library. @throws std::out_of_range
std::string_view report_resource(std::string_view name);

}  // namespace highwater
