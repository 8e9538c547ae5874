#include "tools/options/budget_options.hpp"

#include <fmt/format.h>

namespace highwater {

std::optional<GrowthLimit> growth_option(const boost::program_options::variables_map& values,
                                         const std::string& option,
                                         std::vector<std::string>& problems) {
  const auto given = text_option(values, option);
  const auto growth = given ? parse_growth(*given) : std::nullopt;
  if (given && !growth) {
    problems.push_back(fmt::format(
        "--{} {}: neither a percentage nor a size; use 2% or 64MiB, for example", option, *given));
  }
  return growth;
}

}  // namespace highwater
