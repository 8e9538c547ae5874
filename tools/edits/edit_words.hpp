// An edit as it was typed, checked as far as that goes without the run.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/edits/edit_table.hpp"

namespace highwater {

/// `--set edit=none,...`: the run as it is.
inline constexpr std::string_view kNoEdit = "none";

struct EditWords {
  std::string text;
  const EditKind* kind = nullptr;
  std::map<std::string_view, std::string> values;  ///< by the key of a parameter

  [[nodiscard]] const std::string* find(std::string_view key) const {
    const auto found = values.find(key);
    return found == values.end() ? nullptr : &found->second;
  }
};

/// Whether the edit uses the times at which the run's requests were recorded.
bool follows_times(const EditWords& words);

/// @throws UsageError: where in `text`, what, and what was probably meant
EditWords read_edit(const std::string& text);

/// The edits of `--set edit=...`, separated by commas: a new one begins with the name of an edit,
/// anything else goes on with the one before.
std::vector<std::string> split_edits(std::string_view text);

}  // namespace highwater
