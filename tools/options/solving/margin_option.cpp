#include "tools/options/solving/margin_option.hpp"

#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "tools/options/command_line.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

constexpr double kWholePercent = 100;

}  // namespace

double read_margin(const boost::program_options::variables_map& values, double usual,
                   std::vector<std::string>& problems) {
  const auto given = text_option(values, "margin");
  if (!given) {
    return usual;
  }
  const bool has_sign = given->ends_with('%');
  const auto percent =
      parse_number<double>(std::string_view(*given).substr(0, given->size() - (has_sign ? 1 : 0)));
  if (!percent || !(*percent >= 0 && *percent < kWholePercent)) {
    problems.push_back(fmt::format(
        "--margin {}: not a share of the memory; use percent from 0 to below 100", *given));
    return usual;
  }
  return *percent / kWholePercent;
}

}  // namespace highwater
