// Completion scripts: what the Tab key offers behind `highwater`.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/shell/command_words.hpp"

namespace highwater {

enum class Shell { bash, zsh, fish };

std::optional<Shell> shell_called(std::string_view name);

/// A script that the shell reads: commands, their options, and the values that can be listed; files
/// where nothing else is known.
std::string completion_script(Shell shell, std::span<const CommandWords> commands);

}  // namespace highwater
