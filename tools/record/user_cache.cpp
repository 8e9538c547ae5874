#include "tools/record/user_cache.hpp"

#include <cstdlib>

namespace highwater {
namespace {

std::filesystem::path folder_in(const char* variable, const char* below) {
  const char* const value = std::getenv(variable);
  return value == nullptr || *value == '\0' ? std::filesystem::path{}
                                            : std::filesystem::path(value) / below;
}

/// What $HIGHWATER_CACHE, or the user's home, says.
std::filesystem::path chosen_folder() {
  if (const char* const chosen = std::getenv("HIGHWATER_CACHE"); chosen != nullptr) {
    return chosen;
  }
  const std::filesystem::path cache = folder_in("XDG_CACHE_HOME", "highwater");
  return cache.empty() ? folder_in("HOME", ".cache/highwater") : cache;
}

}  // namespace

std::filesystem::path user_cache_folder(std::string_view own) {
  const std::filesystem::path chosen = chosen_folder();
  return chosen.empty() ? chosen : chosen / own;
}

}  // namespace highwater
