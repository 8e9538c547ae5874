// The user's own defaults of options (tools/options/defaults/default_words.hpp), for the program
// itself.
#pragma once

#include "tools/options/command_line.hpp"

namespace highwater {

/// `arguments` without --no-config. Where it is not among them, read_defaults_file() reads what
/// default_words_path() names. Behind "--" is another program's command line.
Arguments choose_defaults_file(Arguments arguments);

/// Reads and checks the file that was chosen, once. @throws InputError naming the line of a word
/// that no command has, or that cannot be a default
void read_defaults_file();

}  // namespace highwater
