#include "tools/reports/simulate/simulate_tables.hpp"

#include <algorithm>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "tools/reports/simulate/simulate_sentences.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/site.hpp"

namespace highwater {
namespace {

/// Peaks under a name.
struct NamedPeak {
  std::string name;
  Usage peak;
};

std::vector<NamedPeak> peak_rows(const Simulation& simulation) {
  std::vector<NamedPeak> rows;
  const auto& steps = simulation.peaks.steps;
  if (!steps.empty()) {
    const std::string incomplete = steps.front().complete ? "" : " (incomplete)";
    rows.push_back({"first step" + incomplete, steps.front().peak});
  }
  if (const auto steady = simulation.steady_peak()) {
    rows.push_back({"later steps", *steady});
  }
  rows.push_back({"whole run", simulation.replay.result.peak});
  return rows;
}

std::string spoken_category(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

Usage higher(const Usage& a, const Usage& b) {
  return {std::max(a.requested, b.requested), std::max(a.allocated, b.allocated),
          std::max(a.active, b.active), std::max(a.reserved, b.reserved)};
}

/// The highest of each phase, in the first step and in all later ones.
struct PhaseRow {
  std::string phase;
  std::optional<Usage> before;  ///< outside of steps
  std::optional<Usage> first;
  std::optional<Usage> later;
};

std::vector<PhaseRow> phase_rows(const Simulation& simulation) {
  std::vector<PhaseRow> rows;
  for (const PhasePeak& phase : simulation.peaks.phases) {
    auto row = std::ranges::find(rows, phase.phase, &PhaseRow::phase);
    if (row == rows.end()) {
      rows.push_back({phase.phase, {}, {}, {}});
      row = rows.end() - 1;
    }
    std::optional<Usage>& cell = !phase.step        ? row->before
                                 : *phase.step == 0 ? row->first
                                                    : row->later;
    cell = higher(cell.value_or(Usage{}), phase.peak);
  }
  return rows;
}

/// The first step; what comes before it has no step.
auto in_first(Bytes Usage::*member) {
  return [member](const PhaseRow& row) {
    const std::optional<Usage>& usage = row.before ? row.before : row.first;
    return usage ? std::optional((*usage).*member) : std::nullopt;
  };
}

auto in_later(Bytes Usage::*member) {
  return [member](const PhaseRow& row) {
    return row.later ? std::optional((*row.later).*member) : std::nullopt;
  };
}

std::string operator_text(const SiteHolder& holder) {
  const Site& site = holder.origin;
  return site.autograd.empty() ? site.op : fmt::format("{} in {}", site.op, site.autograd);
}

}  // namespace

std::vector<std::pair<std::string, Bytes>> parts_of(const CategoryBytes& bytes) {
  std::vector<std::pair<std::string, Bytes>> parts;
  for (std::size_t i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    parts.emplace_back(to_string(category), bytes.of(category));
  }
  parts.emplace_back("rounding", bytes.rounding);
  return parts;
}

Table peaks_table(const Simulation& simulation) {
  using enum Align;
  using Row = NamedPeak;
  static const Columns<Row> kColumns{
      {"", "", left, &Row::name},
      {"", "requested", right, [](const Row& row) { return row.peak.requested; }},
      {"", "allocated", right, [](const Row& row) { return row.peak.allocated; }},
      {"", "active", right, [](const Row& row) { return row.peak.active; }},
      {"", "reserved", right, [](const Row& row) { return row.peak.reserved; }}};
  return tabulate("Peak memory", kColumns, peak_rows(simulation));
}

Table breakdown_table(const Simulation& simulation) {
  using enum Align;
  using CategoryPart = std::pair<std::string, Bytes>;
  const StretchPeak& run = simulation.peaks.run;
  const std::optional<std::uint64_t>& step = simulation.peak_place.step;
  const std::string when =
      (step ? fmt::format("step {}, ", *step) : std::string()) + simulation.peak_place.phase;
  const Columns<CategoryPart> columns{
      {"", "category", left, [](const CategoryPart& part) { return spoken_category(part.first); }},
      {"", "memory", right, &CategoryPart::second},
      {"", "share", right,
       [&](const CategoryPart& part) { return share(part.second, run.peak.allocated); }}};
  auto parts = parts_of(run.at_peak);
  std::erase_if(parts, [](const CategoryPart& part) { return part.second == Bytes{}; });
  std::ranges::stable_sort(parts, std::ranges::greater{}, &CategoryPart::second);
  Table table = tabulate("Allocated at the peak (" + when + ")", columns, parts);
  const Bytes total = run.at_peak.total();
  table.footer.push_back({"total", to_iec(total), share(total, run.peak.allocated)});
  return table;
}

Table phases_table(const Simulation& simulation) {
  using enum Align;
  static const Columns<PhaseRow> kColumns{
      {"", "phase", left, &PhaseRow::phase},
      {"", "first: allocated", right, in_first(&Usage::allocated)},
      {"", "reserved", right, in_first(&Usage::reserved)},
      {"", "later: allocated", right, in_later(&Usage::allocated)},
      {"", "reserved", right, in_later(&Usage::reserved)}};
  return tabulate("Peak by phase", kColumns, phase_rows(simulation));
}

Table holders_table(const Simulation& simulation) {
  using enum Align;
  static const Columns<SiteHolder> kColumns{
      {"", "memory", right, &SiteHolder::held},
      {"", "blocks", right, &SiteHolder::blocks},
      {"", "operator", left, operator_text},
      {"", "module", left, [](const SiteHolder& holder) { return holder.origin.module; }}};
  const std::span<const SiteHolder> holders = simulation.holders;
  const std::size_t listed = std::min(kHoldersShown, holders.size());
  Table table = tabulate("Largest holders at the peak", kColumns, holders.first(listed));
  if (listed < holders.size()) {
    Bytes rest;
    std::uint64_t blocks = 0;
    for (const SiteHolder& holder : holders.subspan(listed)) {
      rest += holder.held;
      blocks += holder.blocks;
    }
    table.footer.push_back({to_iec(rest), std::to_string(blocks),
                            fmt::format("{} others", holders.size() - listed), ""});
  }
  return table;
}

}  // namespace highwater
