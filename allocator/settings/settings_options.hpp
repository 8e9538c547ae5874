// The names of the options in a settings string, by grammar, and help with unknown names.
//
// A refusal must carry PyTorch's own words, so Highwater's addition (the option that was probably
// meant) is kept separate: UnknownOptionError holds the key, and suggestion() writes the sentence.
// Sources: as in settings.hpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/settings/version.hpp"
#include "traces/error.hpp"

namespace highwater {

/// A settings string with an option that the release does not have.
class UnknownOptionError : public SettingsError {
 public:
  UnknownOptionError(const std::string& reason, std::string_view key)
      : SettingsError(reason), key_(key) {}

  [[nodiscard]] const std::string& key() const { return key_; }

 private:
  std::string key_;
};

enum class OptionEffect {
  modelled,
  none,         ///< concerns host memory only: its value is skipped
  not_modelled  ///< changes what the allocator decides: refused
};

struct OptionRelease {
  std::string_view name;
  std::string_view since = "2.6";  ///< the first preset that knows it
  OptionEffect effect = OptionEffect::modelled;
};

/// The options that the release knows, aliases included.
std::vector<std::string_view> option_names(const VersionPreset& version);

/// The option called `name`; nullptr if the release has none.
const OptionRelease* find_option(std::string_view name, const VersionPreset& version);

/// The known option of which `key` is probably a misspelling.
std::optional<std::string> nearest_option(std::string_view key, const VersionPreset& version);

/// "; did you mean max_split_size_mb?" or "; known to --torch 2.11" to append to what(), or "" if
/// there is nothing to add.
std::string suggestion(const SettingsError& error, const VersionPreset& version);

}  // namespace highwater
