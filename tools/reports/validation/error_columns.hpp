// The four figures that sum relative errors up (error_summary.hpp), as columns of a report.
#pragma once

#include <functional>
#include <string>

#include "tools/studies/estimates/error_summary.hpp"
#include "tools/text/table.hpp"

namespace highwater {

struct ErrorHeads {
  std::string key;    ///< of the object that JSON has; empty: the row is that object
  std::string count;  ///< label of their number; empty: JSON alone has it
  std::string median = "median";
  int decimals = 1;
};

/// count, median, p95, worst, bias.
template <class Row>
Columns<Row> error_columns(const ErrorHeads& heads,
                           const std::function<ErrorSummary(const Row&)>& errors_of) {
  using enum Align;
  const std::string prefix = heads.key.empty() ? "" : heads.key + ".";
  const auto percent = [&](double ErrorSummary::*member, auto to_cell) {
    return [=, decimals = heads.decimals](const Row& row) {
      return to_cell(errors_of(row).*member, decimals);
    };
  };
  return {
      {prefix + "count", heads.count, right, [=](const Row& row) { return errors_of(row).count; }},
      {prefix + "median", heads.median, right, percent(&ErrorSummary::median, percent_cell)},
      {prefix + "p95", "p95", right, percent(&ErrorSummary::p95, percent_cell)},
      {prefix + "worst", "worst", right, percent(&ErrorSummary::worst, percent_cell)},
      {prefix + "bias", "bias", right, percent(&ErrorSummary::bias, signed_percent_cell)}};
}

/// {"count", "median", "p95", "worst", "bias"}
boost::json::object error_json(const ErrorSummary& errors);

}  // namespace highwater
