#include "allocator/settings/settings_change.hpp"

#include <algorithm>

namespace highwater {

std::vector<std::string> split_options(std::string_view conf) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : conf) {
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

namespace {

/// What reports print for the default of the split limit is a word for it, too.
bool is_default(std::string_view option, std::string_view value) {
  return value == kDefaultValue || (option == "max_split_size_mb" && value == "unlimited");
}

}  // namespace

Settings with_option(const Settings& settings, std::string_view option, std::string_view value,
                     const VersionPreset& version) {
  std::string conf;
  const auto append = [&](std::string_view part) {
    conf.append(conf.empty() || part.empty() ? "" : ",").append(part);
  };
  const std::string key = std::string(option) + ":";
  for (const std::string& part : split_options(to_conf(settings))) {
    append(part.starts_with(key) ? "" : part);
  }
  append(is_default(option, value) ? "" : key + std::string(value));
  return parse_settings(conf, version);
}

}  // namespace highwater
