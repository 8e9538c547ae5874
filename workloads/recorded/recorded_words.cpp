#include "workloads/recorded/recorded_words.hpp"

namespace highwater::recorded {

void require_known(const Field& field, std::span<const std::string_view> known) {
  for (const auto& [key, value] : field.object()) {
    if (std::ranges::find(known, std::string_view(key)) == known.end()) {
      throw Unsupported{fmt::format("unknown field {}.{}", field.path(), std::string_view(key))};
    }
  }
}

bool flag(const Field& fields, std::string_view key) {
  const auto field = fields.find(key);
  return field && field->boolean();
}

}  // namespace highwater::recorded
