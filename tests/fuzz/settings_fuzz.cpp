// Any settings string parses or is refused with a reason, in every grammar; what parses can be
// written back and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "allocator/settings/settings.hpp"
#include "allocator/settings/settings_options.hpp"

namespace {

void check(std::string_view conf, const highwater::VersionPreset& version) {
  highwater::Settings settings;
  try {
    settings = highwater::parse_settings(conf, version);
  } catch (const highwater::SettingsError& error) {
    // One release is enough for the search of near names, which is slow under sanitizers.
    if (&version == &highwater::version_presets().back()) {
      (void)highwater::suggestion(error, version);
    }
    return;
  }
  if (highwater::parse_settings(highwater::to_conf(settings), version) != settings) {
    std::abort();
  }
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view conf(reinterpret_cast<const char*>(data), size);
  for (const highwater::VersionPreset& version : highwater::version_presets()) {
    check(conf, version);
  }
  return 0;
}
