#include "tools/studies/find_batch.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {

namespace {

/// A search in progress.
class Search {
 public:
  Search(const std::function<BatchTrial(std::int64_t)>& simulate, std::int64_t limit)
      : simulate_(&simulate) {
    found_.limit = limit;
  }

  BatchSearch run() {
    if (!fits(1)) {
      return found_;
    }
    while (is_open() && fits(std::min(2 * *found_.largest, found_.limit))) {
    }
    while (found_.smallest_failing && *found_.smallest_failing - *found_.largest > 1) {
      fits(*found_.largest + (*found_.smallest_failing - *found_.largest) / 2);
    }
    return found_;
  }

 private:
  bool fits(std::int64_t batch) {
    found_.trials.push_back((*simulate_)(batch));
    (found_.trials.back().fits ? found_.largest : found_.smallest_failing) = batch;
    return found_.trials.back().fits;
  }

  /// No batch is known not to fit, and there are larger ones to try.
  [[nodiscard]] bool is_open() const {
    return !found_.smallest_failing && *found_.largest < found_.limit;
  }

  const std::function<BatchTrial(std::int64_t)>* simulate_;
  BatchSearch found_;
};

}  // namespace

BatchSearch find_batch(const std::function<BatchTrial(std::int64_t)>& simulate,
                       std::int64_t limit) {
  return Search(simulate, limit).run();
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
    return fmt::format("{} or more: the search stops there ({})", *search.largest, list);
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
