// The list of options that --help shows: names in one column, what they mean in another, defaults
// with their sources on lines of their own. Words are never cut.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace highwater {

struct HelpEntry {
  std::string name;                ///< "--batch N"
  std::vector<std::string> lines;  ///< paragraphs; long ones are wrapped
};

/// @pre entries have at least one line each
std::string help_text(const std::vector<HelpEntry>& entries);

}  // namespace highwater
