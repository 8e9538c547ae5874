#include "tools/text/usage_errors.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {

UsageErrors::UsageErrors(std::vector<std::string> problems)
    : UsageError(fmt::format("{}", fmt::join(problems, "; "))), problems_(std::move(problems)) {}

std::string not_a_size(std::string_view given) {
  return fmt::format("{}: not a size below 16 EiB; write bytes or 80GiB, 80GB, 512M (units K to E)",
                     given);
}

}  // namespace highwater
