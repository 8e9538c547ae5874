#include "allocator/settings/settings_describe.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "allocator/settings/settings_options.hpp"

namespace highwater {
namespace {

std::string split_limit_text(Bytes limit) {
  return limit == kUnlimited ? "unlimited" : fmt::format("{}", limit.count());
}

/// "OPTION: 'x' is not a number in range (stoi)" in two: ours, and what PyTorch says, which is all
/// of any other message.
struct Reason {
  std::string_view ours;
  std::string_view pytorchs;
};

Reason reason(std::string_view message) {
  const std::size_t open = message.rfind(" (sto");
  if (open == std::string_view::npos) {
    return {{}, message};
  }
  return {message.substr(0, open), message.substr(open + 2, message.size() - open - 3)};
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
    return fmt::format("{}\terror\t{}", conf, reason(error.what()).pytorchs);
  }
}

std::string refusal_text(const SettingsError& error, const VersionPreset& version) {
  const auto [ours, pytorchs] = reason(error.what());
  return ours.empty()
             ? fmt::format("{}{} (PyTorch {}'s own message)", pytorchs, suggestion(error, version),
                           version.name)
             : fmt::format("{} (PyTorch {}'s own message: {})", ours, version.name, pytorchs);
}

}  // namespace highwater
