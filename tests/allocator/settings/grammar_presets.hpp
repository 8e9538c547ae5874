// A release of each grammar of the settings.
#pragma once

#include "allocator/settings/version.hpp"

namespace highwater {

inline const VersionPreset& strict() {
  return version_preset("2.6");
}

inline const VersionPreset& tolerant() {
  return version_preset("2.11");
}

}  // namespace highwater
