#include "tools/text/usage_errors.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {

UsageErrors::UsageErrors(std::vector<std::string> problems)
    : UsageError(fmt::format("{}", fmt::join(problems, "; "))), problems_(std::move(problems)) {}

}  // namespace highwater
