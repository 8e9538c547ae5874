#include "tools/studies/error_summary.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

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

std::vector<std::string> error_cells(const ErrorSummary& summary, int decimals) {
  const auto percent = [&](double fraction) {
    return fmt::format("{:.{}f} %", 100 * fraction, decimals);
  };
  return {percent(summary.median), percent(summary.p95), percent(summary.worst),
          fmt::format("{:+.{}f} %", 100 * summary.bias, decimals)};
}

boost::json::object error_json(const ErrorSummary& summary) {
  return {{"count", summary.count},
          {"median", summary.median},
          {"p95", summary.p95},
          {"worst", summary.worst},
          {"bias", summary.bias}};
}

}  // namespace highwater
