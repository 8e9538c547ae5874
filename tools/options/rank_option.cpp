#include "tools/options/rank_option.hpp"

#include <fmt/format.h>

#include "traces/parse_text.hpp"

namespace highwater {

std::optional<int> read_rank(const std::string& text, std::string_view others,
                             std::vector<std::string>& problems) {
  const auto rank = parse_number<int>(text);
  if (!rank || *rank < 0) {
    problems.push_back(fmt::format("--rank {}: not a rank; use a number from 0{}", text, others));
    return std::nullopt;
  }
  return rank;
}

void check_rank(int rank, const Parallelism& parallel, std::vector<std::string>& problems) {
  if (rank >= parallel.gpus()) {
    problems.push_back(fmt::format("--rank {}: the job's ranks are 0 to {}; use one of them", rank,
                                   parallel.gpus() - 1));
  }
}

}  // namespace highwater
