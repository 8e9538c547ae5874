// Keys as rules write them: "training.steps", "metrics.*", where '*' stands for any characters, '-'
// and '_' are alike and upper case does not count.
#pragma once

#include <string>
#include <string_view>

namespace highwater {

class KeyPattern {
 public:
  explicit KeyPattern(std::string_view pattern);

  /// `key` as common_key() gives it. Takes time in proportion to the key.
  [[nodiscard]] bool matches_common(std::string_view key) const;

 private:
  std::string pattern_;  ///< as common_key() gives it
};

/// Whether `pattern` with its '*' is `key`.
bool matches_key(std::string_view pattern, std::string_view key);

}  // namespace highwater
