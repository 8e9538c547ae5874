// Text from files made safe to print: it may hold terminal escapes, newlines or bytes that are no
// UTF-8, and none of them may reach a terminal or break a report.
#pragma once

#include <string>
#include <string_view>

#include "traces/utf8.hpp"  // valid_utf8, for JSON, whose writer escapes control characters itself

namespace highwater {

/// One line for people: control characters as \xNN, invalid UTF-8 as U+FFFD.
std::string printable(std::string_view text);

}  // namespace highwater
