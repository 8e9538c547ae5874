// Several mistakes on one command line, reported together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "traces/error.hpp"

namespace highwater {

/// what() has all of them, `problems` one by one. Exit code 2.
class UsageErrors : public UsageError {
 public:
  explicit UsageErrors(std::vector<std::string> problems);

  [[nodiscard]] const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

/// `given` ("--capacity 80 Gigs") has no size for a value.
std::string not_a_size(std::string_view given);

}  // namespace highwater
