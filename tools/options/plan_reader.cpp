#include "tools/options/plan_reader.hpp"

#include "tools/text/safe_text.hpp"

namespace highwater {

std::string remedy(std::string_view word, const std::vector<std::string>& known) {
  if (const auto meant = nearest_word(word, known)) {
    return fmt::format("did you mean {}? (known: {})", *meant, fmt::join(known, ", "));
  }
  return fmt::format("use one of {}", fmt::join(known, ", "));
}

void PlanReader::complain(const std::string& option, std::string_view value,
                          std::string_view what) {
  problems_->push_back(fmt::format("--{} {}: {}", option, printable(value), what));
}

std::optional<double> PlanReader::real(const std::string& option, double least, double most,
                                       std::string_view range) {
  const auto given = text(option);
  if (!given) {
    return std::nullopt;
  }
  const auto number = parse_number<double>(*given);
  if (!number || !(*number >= least && *number <= most)) {
    complain(option, *given, fmt::format("give a number {}", range));
    return std::nullopt;
  }
  return number;
}

}  // namespace highwater
