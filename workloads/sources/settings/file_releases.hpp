// The releases that a file was written for, as far as its keys tell.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "traces/release.hpp"

namespace highwater {

struct FileReleases {
  std::string key;      ///< that the next release dropped: "evaluation_strategy"
  std::string package;  ///< whose key it is: "transformers"
  /// By package, the newest release that came out before the one which dropped the key; empty:
  /// nothing in the file is older than the newest releases.
  std::map<std::string, Release, std::less<>> newest = {};
  /// The first release of the program's own package that has all keys of the file; 0.0: unknown.
  Release oldest_of_program = {};

  [[nodiscard]] bool are_known() const { return !newest.empty(); }

  /// Absent: the newest release.
  [[nodiscard]] std::optional<Release> of(std::string_view package_name) const {
    const auto found = newest.find(package_name);
    return found == newest.end() ? std::nullopt : std::optional(found->second);
  }

  /// Whether the file is of a release before `release`.
  [[nodiscard]] bool are_before(std::string_view package_name, Release release) const {
    const std::optional<Release> own = of(package_name);
    return own && *own < release;
  }
};

}  // namespace highwater
