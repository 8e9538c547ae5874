// Text as one word of a POSIX shell.
#pragma once

#include <string>
#include <string_view>

namespace highwater {

/// As it is where a shell leaves it alone, else in single quotes.
std::string shell_word(std::string_view text);

}  // namespace highwater
