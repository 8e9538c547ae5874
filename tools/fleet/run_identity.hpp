// What identifies a run: the command, what its files hold, and the version of the program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/fleet/piece_file.hpp"

namespace highwater {

/// Options that say where results go to and come from, and change none of them. The second is
/// whether it has a value.
struct FleetOptionName {
  std::string_view name;
  bool has_value;
};

/// `arguments` without these options.
std::vector<std::string> without_options(const std::vector<std::string>& arguments,
                                         const std::vector<FleetOptionName>& left_out);

/// A check sum of every file and folder that a word of `arguments` names: of a file its size and
/// its content (of one above 3 MiB the first, the middle and the last MiB), of a folder the names
/// and sizes of what is in it.
std::string check_of_inputs(const std::vector<std::string>& arguments);

}  // namespace highwater
