#include "tools/find_batch.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {

BatchSearch find_batch(const std::function<BatchTrial(std::int64_t)>& simulate,
                       std::int64_t limit) {
  BatchSearch search;
  search.limit = limit;
  const auto fits = [&](std::int64_t batch) {
    search.trials.push_back(simulate(batch));
    (search.trials.back().fits ? search.largest : search.smallest_failing) = batch;
    return search.trials.back().fits;
  };
  for (std::int64_t batch = 1; fits(batch) && batch < limit; batch = std::min(2 * batch, limit)) {
  }
  if (!search.largest || !search.smallest_failing) {
    return search;
  }
  while (*search.smallest_failing - *search.largest > 1) {
    fits(*search.largest + (*search.smallest_failing - *search.largest) / 2);
  }
  return search;
}

std::string describe(const BatchSearch& search) {
  std::vector<std::int64_t> tried;
  for (const BatchTrial& trial : search.trials) {
    tried.push_back(trial.batch);
  }
  const std::string list = fmt::format("tried {}", fmt::join(tried, ", "));
  if (!search.largest) {
    return fmt::format("none: a single sequence does not fit ({})", list);
  }
  if (!search.smallest_failing) {
    return fmt::format("{} or more: the search ends there ({})", *search.largest, list);
  }
  return fmt::format("{} ({} does not fit; {})", *search.largest, *search.smallest_failing, list);
}

boost::json::object batch_search_json(const BatchSearch& search) {
  const auto or_null = [](const std::optional<std::int64_t>& number) {
    return number ? boost::json::value(*number) : boost::json::value(nullptr);
  };
  boost::json::array trials;
  for (const BatchTrial& trial : search.trials) {
    trials.push_back({{"batch", trial.batch},
                      {"fits", trial.fits},
                      {"peak_reserved_bytes", trial.peak_reserved.count()}});
  }
  return {{"largest", or_null(search.largest)},
          {"smallest_failing", or_null(search.smallest_failing)},
          {"limit", search.limit},
          {"trials", std::move(trials)}};
}

}  // namespace highwater
