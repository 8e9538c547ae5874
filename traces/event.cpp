#include "traces/event.hpp"

#include <array>
#include <cstddef>

namespace highwater {

std::string_view to_string(Category category) {
  constexpr std::array<std::string_view, kCategoryCount> kNames{
      "unknown",   "parameter", "gradient", "optimizer_state", "activation", "temporary",
      "workspace", "input",     "buffer",   "communication",   "weight_copy"};
  return kNames.at(static_cast<std::size_t>(category));
}

}  // namespace highwater
