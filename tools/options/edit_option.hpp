// --edit: changes to the run before it is replayed, for every command that replays one.
#pragma once

#include <string>
#include <vector>

#include "tools/edits/edit_words.hpp"
#include "tools/options/command_line.hpp"

namespace highwater {

/// What --help says of the edits.
enum class EditHelp { names, forms };

void add_edit_option(OptionParser& parser, EditHelp detail);

/// In the order in which they were given. What is wrong is appended to `problems`.
std::vector<EditWords> read_edit_option(const boost::program_options::variables_map& values,
                                        std::vector<std::string>& problems);

}  // namespace highwater
