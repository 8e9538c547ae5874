// The end of what a program printed: mostly what went wrong.
#pragma once

#include <string_view>

namespace highwater {

/// The last line that holds anything, without blanks behind it; empty if there is none.
std::string_view last_line(std::string_view text);

}  // namespace highwater
