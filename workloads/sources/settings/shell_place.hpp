// Where in a shell script a reader is, for messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace highwater {

struct ShellPlace {
  std::string_view script;
  std::string file;    ///< the name for messages
  std::size_t at = 0;  ///< the next character

  /// "line 3"
  [[nodiscard]] std::string line() const;

  /// @throws InputError
  [[noreturn]] void fail(std::string_view problem, std::string_view remedy) const;
};

}  // namespace highwater
