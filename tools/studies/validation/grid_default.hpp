// The grid that `validate` runs by default.
#pragma once

#include <string_view>

namespace highwater {

/// A grid file (grid_file.hpp).
std::string_view default_grid();

}  // namespace highwater
