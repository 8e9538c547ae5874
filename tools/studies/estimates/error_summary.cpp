#include "tools/studies/estimates/error_summary.hpp"

#include <algorithm>
#include <cmath>

namespace highwater {
namespace {

double median_of_sorted(const std::vector<double>& sorted) {
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

}  // namespace

double relative_error(double value, Bytes truth) {
  return value / static_cast<double>(truth.count()) - 1;
}

ErrorSummary summarise_errors(std::vector<double> errors) {
  ErrorSummary summary;
  summary.count = errors.size();
  if (errors.empty()) {
    return summary;
  }
  std::ranges::sort(errors);
  summary.bias = median_of_sorted(errors);
  for (double& error : errors) {
    error = std::abs(error);
  }
  std::ranges::sort(errors);
  summary.median = median_of_sorted(errors);
  summary.p95 = errors[(errors.size() * 95 + 99) / 100 - 1];
  summary.worst = errors.back();
  return summary;
}

}  // namespace highwater
