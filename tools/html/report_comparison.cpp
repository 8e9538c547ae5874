#include "tools/html/report_comparison.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "tools/html/report_sites.hpp"
#include "tools/reports/diff/peak_sizes_report.hpp"
#include "tools/studies/explanation/peak_diff_run.hpp"
#include "tools/studies/gate/memory_parts.hpp"
#include "tools/studies/runs/recording_check.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// Rows of the table of call sites; the others are summed in one.
constexpr std::size_t kChangesShown = 20;

json::array change_row(const std::string& name, Bytes first, Bytes second) {
  return {shortened(name), first.count(), second.count()};
}

json::array change_row(const std::string& name, const PeakRow& row) {
  return change_row(name, row.first.total(), row.second.total());
}

json::array parts_json(const PeakRow& total) {
  json::array list;
  for (const NamedPart& part : kMemoryParts) {
    const Bytes first = total.first.*part.bytes;
    const Bytes second = total.second.*part.bytes;
    if (first > Bytes{} || second > Bytes{}) {
      list.push_back(change_row(part.label, first, second));
    }
  }
  return list;
}

/// Remainders (free memory) come after the sites.
json::array sites_json(const PeakRows& rows) {
  const auto held = static_cast<std::size_t>(std::ranges::find(rows, true, &PeakRow::is_remainder) -
                                             rows.begin());
  const std::size_t shown = std::min(kChangesShown, held);
  json::array list;
  for (std::size_t i = 0; i < shown; ++i) {
    list.push_back(change_row(rows[i].name, rows[i]));
  }
  if (shown < held) {
    list.push_back(
        change_row(fmt::format("{} more call sites", held - shown), sum_of(rows, shown, held)));
  }
  for (std::size_t i = held; i < rows.size(); ++i) {
    list.push_back(change_row(rows[i].name, rows[i]));
  }
  return list;
}

/// The peak of a run that was cut off is no peak of the whole run.
std::string cut_off_text(const ReportRun& first, const ReportRun& second) {
  const bool has_first = first.outcome == RunOutcome::out_of_memory;
  const bool has_second = second.outcome == RunOutcome::out_of_memory;
  if (!has_first && !has_second) {
    return "";
  }
  return fmt::format("; {} ran out of memory", has_first && has_second ? "both"
                                               : has_first             ? "A"
                                                                       : "B");
}

std::string verdict_on(const PeakRow& total) {
  const Bytes first = total.first.total();
  const Bytes second = total.second.total();
  if (first == second) {
    return fmt::format("A and B reserve the same at their peaks: {}", to_iec(first));
  }
  const bool is_more = second > first;
  return fmt::format("B reserves {} {} than A at its peak: {} against {}",
                     to_iec(is_more ? second - first : first - second), is_more ? "more" : "less",
                     to_iec(second), to_iec(first));
}

}  // namespace

/// Sizes that one side has more of, each with the sites that it has alone.
json::array blocks_json(const RequestTrace& first, const RequestTrace& second) {
  json::array list;
  const PeakSizes sizes = peak_sizes(first, second);
  for (std::size_t i = 0; i < std::min(kChangesShown, sizes.rows.size()); ++i) {
    const PeakSize& row = sizes.rows[i];
    const std::string sites = sites_text(row.only_first) +
                              (row.only_first.empty() || row.only_second.empty() ? "" : " | ") +
                              sites_text(row.only_second);
    list.push_back(change_row(to_iec(row.bytes) + ": " + sites, row.bytes * row.first,
                              row.bytes * row.second));
  }
  return list;
}

json::object comparison_json(const ReportRun& first, const ReportRun& second) {
  const PeakChange change =
      change_of_peak(peak_side(first.explained.workload, first.peak.value()),
                     peak_side(second.explained.workload, second.peak.value()));
  return {
      {"verdict", verdict_on(change.total) + cut_off_text(first, second)},
      {"parts", parts_json(change.total)},
      {"sites", sites_json(change.sites)},
      {"blocks", blocks_json(*first.explained.workload.trace, *second.explained.workload.trace)},
      {"total", change_row("total", change.total)}};
}

}  // namespace highwater
