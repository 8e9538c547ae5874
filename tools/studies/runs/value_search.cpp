#include "tools/studies/runs/value_search.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {

namespace {

/// A search in progress: below the border all fit, or none does.
class Search {
 public:
  Search(const std::function<ValueTrial(std::int64_t)>& simulate, WantedValue wanted,
         std::int64_t limit)
      : simulate_(&simulate), fits_below_(wanted == WantedValue::largest) {
    found_.limit = limit;
  }

  ValueSearch run() {
    if (is_below(1)) {
      while (!above_ && *below_ < found_.limit) {
        is_below(std::min(2 * *below_, found_.limit));
      }
      while (above_ && *above_ - *below_ > 1) {
        is_below(*below_ + (*above_ - *below_) / 2);
      }
    }
    found_.best = fits_below_ ? below_ : above_;
    found_.next = fits_below_ ? above_ : below_;
    return found_;
  }

 private:
  bool is_below(std::int64_t value) {
    found_.trials.push_back((*simulate_)(value));
    const bool is_below = found_.trials.back().fits == fits_below_;
    (is_below ? below_ : above_) = value;
    return is_below;
  }

  const std::function<ValueTrial(std::int64_t)>* simulate_;
  bool fits_below_;
  std::optional<std::int64_t> below_;  ///< the highest value known to be there
  std::optional<std::int64_t> above_;  ///< the lowest
  ValueSearch found_;
};

}  // namespace

ValueSearch find_value(const std::function<ValueTrial(std::int64_t)>& simulate, WantedValue wanted,
                       std::int64_t limit) {
  return Search(simulate, wanted, limit).run();
}

std::string describe(const ValueSearch& search) {
  std::vector<std::int64_t> tried;
  for (const ValueTrial& trial : search.trials) {
    tried.push_back(trial.value);
  }
  const std::string list = fmt::format("tried {}", fmt::join(tried, ", "));
  if (!search.best) {
    return fmt::format("none: a single sequence does not fit ({})", list);
  }
  if (!search.next) {
    return fmt::format("{} or more: the search stops there ({})", *search.best, list);
  }
  return fmt::format("{} ({} does not fit; {})", *search.best, *search.next, list);
}

}  // namespace highwater
