// The manual page, highwater(1), in roff.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/shell/command_words.hpp"

namespace highwater {

/// Every command with its options, as `highwater help COMMAND` has them.
std::string manual_page(std::string_view version, std::span<const CommandWords> commands);

}  // namespace highwater
