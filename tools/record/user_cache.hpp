// Where results that only save time are kept from one command to the next.
#pragma once

#include <filesystem>
#include <string_view>

namespace highwater {

/// `own` in $HIGHWATER_CACHE, else in $XDG_CACHE_HOME/highwater, else in ~/.cache/highwater (XDG
/// Base Directory Specification). Empty, and nothing is kept, where HIGHWATER_CACHE is set and
/// empty or no home is known.
std::filesystem::path user_cache_folder(std::string_view own);

}  // namespace highwater
