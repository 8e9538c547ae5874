#include "tools/files/file_settings.hpp"

#include <fmt/format.h>

#include "sim/recordings/recorded_settings.hpp"
#include "traces/error.hpp"

namespace highwater {

Settings settings_from_file(const std::string& name, const Recording& recording,
                            const VersionPreset& version) {
  try {
    return settings_of(recording, version);
  } catch (const SettingsError& error) {
    throw InputError(name, "allocator_settings.PYTORCH_CUDA_ALLOC_CONF",
                     fmt::format("'{}': {}", recording.settings->conf, error.what()),
                     "replace them with --alloc-conf");
  }
}

}  // namespace highwater
