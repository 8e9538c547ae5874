#include "allocator/settings/settings_describe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"

namespace highwater {
namespace {

std::string split_limit_text(Bytes limit) {
  return limit == kUnlimited ? "unlimited" : fmt::format("{}", limit.count());
}

/// "stoi: the value 'x' of ..." -> "stoi"
std::string reason(std::string_view message) {
  const std::size_t colon = message.find(':');
  const bool is_conversion = message.starts_with("sto") && colon != std::string_view::npos;
  return std::string(is_conversion ? message.substr(0, colon) : message);
}

}  // namespace

std::string describe_settings(const Settings& settings) {
  return fmt::format(
      "max_split_size={};max_non_split_rounding_size={};garbage_collection_threshold={:.17g};"
      "expandable_segments={:d};release_lock_on_cudamalloc={:d};roundup_power2_divisions={}",
      split_limit_text(settings.max_split_size), settings.max_non_split_rounding_size.count(),
      settings.garbage_collection_threshold, settings.expandable_segments,
      settings.release_lock_on_cudamalloc, fmt::join(settings.roundup_power2_divisions, ","));
}

std::string conf_case_line(std::string_view conf, const VersionPreset& version) {
  try {
    return fmt::format("{}\tok\t{}", conf, describe_settings(parse_settings(conf, version)));
  } catch (const SettingsError& error) {
    return fmt::format("{}\terror\t{}", conf, reason(error.what()));
  }
}

}  // namespace highwater
