#include "tools/reports/peak_diff_report.hpp"

#include <algorithm>
#include <functional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/replay_report.hpp"
#include "tools/studies/gate/memory_parts.hpp"
#include "tools/studies/gate/peak_words.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/table.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// A figure of a whole run that is set beside the peak.
struct Figure {
  const char* key;
  const char* label;
  std::function<MetricValue(const ReplayResult&)> of;
};

const std::vector<Figure>& figures() {
  static const std::vector<Figure> list{
      {"peak_allocated_bytes", "peak allocated",
       [](const ReplayResult& r) { return r.peak.allocated; }},
      {"peak_requested_bytes", "peak requested",
       [](const ReplayResult& r) { return r.peak.requested; }},
      {"device_alloc", "device allocations",
       [](const ReplayResult& r) { return r.counts.device_alloc; }},
      {"device_free", "device frees", [](const ReplayResult& r) { return r.counts.device_free; }},
      {"alloc_retries", "retries after releasing the cache",
       [](const ReplayResult& r) { return r.counts.alloc_retries; }},
      {"ooms", "out of memory", [](const ReplayResult& r) { return r.counts.ooms; }},
      {"fragmentation_at_peak", "unused share at the reserved peak",
       [](const ReplayResult& r) { return r.fragmentation.at_peak_reserved; }},
      {"fragmentation", "1 - peak active / peak reserved",
       [](const ReplayResult& r) { return r.fragmentation.peak; }},
  };
  return list;
}

/// second - first, of two values of the same kind.
MetricValue change_of(const MetricValue& first, const MetricValue& second) {
  if (const auto* bytes = std::get_if<Bytes>(&first)) {
    return difference(*bytes, std::get<Bytes>(second));
  }
  if (const auto* count = std::get_if<std::uint64_t>(&first)) {
    return static_cast<std::int64_t>(std::get<std::uint64_t>(second)) -
           static_cast<std::int64_t>(*count);
  }
  return std::get<double>(second) - std::get<double>(first);
}

std::string change_text(const MetricValue& first, const MetricValue& second) {
  const MetricValue change = change_of(first, second);
  if (first == second) {
    return "=";
  }
  if (std::holds_alternative<Bytes>(first)) {
    return to_iec_signed(std::get<std::int64_t>(change));
  }
  return std::holds_alternative<double>(change)
             ? fmt::format("{:+.3f}", std::get<double>(change))
             : fmt::format("{:+}", std::get<std::int64_t>(change));
}

std::string moment_text(const PeakBreakdown& peak) {
  if (peak.moment.operations == 0) {
    return "before the first operation";
  }
  const std::string step = peak.moment.step ? fmt::format(" in step {}", *peak.moment.step) : "";
  return fmt::format("after operation {}{}", peak.moment.operations, step);
}

std::string headline(const PeakDiff& diff) {
  const Bytes first = diff.change.total.first.total();
  const Bytes second = diff.change.total.second.total();
  std::string text = fmt::format("Peak reserved {} -> {}: {}", to_iec(first), to_iec(second),
                                 size_change_text(diff.change.total.change()));
  if (first != second && first > Bytes{0}) {
    text += fmt::format(" ({})", percent_text(static_cast<double>(diff.change.total.change()) /
                                              static_cast<double>(first.count())));
  }
  const std::string who = growth_words(diff.change);
  text += who.empty() ? "" : "\n  " + printable(who);
  return text + fmt::format("\n  - {}, + {}\n", moment_text(diff.first.peak),
                            moment_text(diff.second.peak));
}

/// A sum of bytes on both sides.
struct SidesRow {
  std::string part;
  Bytes first;
  Bytes second;
};

Table parts_table(const PeakRow& total) {
  using enum Align;
  static const Columns<SidesRow> kColumns{
      {"", "part", left, &SidesRow::part},
      {"", "-", right, &SidesRow::first},
      {"", "+", right, &SidesRow::second},
      {"", "change", right,
       [](const SidesRow& row) { return size_change_text(difference(row.first, row.second)); }}};
  std::vector<SidesRow> rows;
  for (const NamedPart& part : kMemoryParts) {
    const Bytes first = total.first.*part.bytes;
    const Bytes second = total.second.*part.bytes;
    if (part.bytes != &MemoryBreakdown::passing || first != second || first > Bytes{0}) {
      rows.push_back({part.label, first, second});
    }
  }
  rows.push_back({"total", total.first.total(), total.second.total()});
  return tabulate("Composition of reserved memory at each side's peak", kColumns, rows);
}

Table figures_table(const PeakDiff& diff) {
  using enum Align;
  const ReplayResult& first = diff.first.workload.replay.result;
  const ReplayResult& second = diff.second.workload.replay.result;
  const Columns<Figure> columns{
      {"", "figure", left, &Figure::label},
      {"", "-", right, [&](const Figure& figure) { return figure.of(first); }},
      {"", "+", right, [&](const Figure& figure) { return figure.of(second); }},
      {"", "change", right,
       [&](const Figure& figure) { return change_text(figure.of(first), figure.of(second)); }}};
  return tabulate("Over the whole run", columns, figures());
}

/// A row and its name in the table: those that are left out share one.
struct NamedRow {
  PeakRow row;
  std::string name;
};

std::string name_of(const PeakRow& row) {
  return row.second_name.empty() ? row.name : row.name + "  |  " + row.second_name;
}

/// The first `top`, the rest in one row, remainders, total.
std::vector<NamedRow> named_rows(const PeakRows& rows, std::size_t top) {
  const auto held = static_cast<std::size_t>(std::ranges::find(rows, true, &PeakRow::is_remainder) -
                                             rows.begin());
  const std::size_t shown = std::min(top, held);
  std::vector<NamedRow> named;
  for (std::size_t i = 0; i < shown; ++i) {
    named.push_back({rows[i], name_of(rows[i])});
  }
  if (shown < held) {
    named.push_back(
        {sum_of(rows, shown, held), fmt::format("... {} more rows (--top)", held - shown)});
  }
  for (std::size_t i = held; i < rows.size(); ++i) {
    named.push_back({rows[i], rows[i].name});
  }
  named.push_back({sum_of(rows, 0, rows.size()), "total"});
  return named;
}

/// What a list of rows is about.
struct RowsHeads {
  std::string title;
  std::string what;
  std::string counted = "blocks";
};

/// A count of remainders would mean nothing.
auto count_of(std::uint64_t PeakRow::*member) {
  return [member](const NamedRow& named) {
    return named.row.is_remainder ? Cell(std::monostate()) : Cell(named.row.*member);
  };
}

template <class Figure>
auto change_in(Figure figure) {
  return [figure](const NamedRow& named) {
    return size_change_text(
        difference(std::invoke(figure, named.row.first), std::invoke(figure, named.row.second)));
  };
}

Columns<NamedRow> row_columns(const RowsHeads& heads, bool has_parts) {
  using enum Align;
  Columns<NamedRow> columns{
      {"", "-", right, [](const NamedRow& named) { return named.row.first.total(); }},
      {"", "+", right, [](const NamedRow& named) { return named.row.second.total(); }},
      {"", "change", right,
       [](const NamedRow& named) { return size_change_text(named.row.change()); }},
      {"", heads.counted + " -", right, count_of(&PeakRow::first_count)},
      {"", heads.counted + " +", right, count_of(&PeakRow::second_count)}};
  if (has_parts) {
    columns.push_back({"", "in use", right, change_in(&MemoryBreakdown::in_use)});
    columns.push_back({"", "free", right, change_in(&MemoryBreakdown::free_in_split)});
    columns.push_back({"", "unused", right, change_in(&MemoryBreakdown::free_whole)});
  }
  columns.push_back({"", heads.what, left, &NamedRow::name});
  return columns;
}

std::string rows_text(const PeakRows& rows, std::size_t top, const RowsHeads& heads,
                      bool has_parts = false) {
  return "\n" + format_aligned(
                    tabulate(heads.title, row_columns(heads, has_parts), named_rows(rows, top)));
}

/// Recordings know no categories: one row of all would say nothing.
bool tells_categories(const PeakRows& rows) {
  return std::ranges::any_of(rows, [](const PeakRow& row) {
    return !row.is_remainder && row.name != to_string(Category::unknown);
  });
}

json::object parts_object(const MemoryBreakdown& parts) {
  json::object object;
  for (const NamedPart& part : kMemoryParts) {
    object[part.key] = (parts.*part.bytes).count();
  }
  object["total_bytes"] = parts.total().count();
  return object;
}

json::array rows_array(const PeakRows& rows, const char* counted) {
  json::array list;
  for (const PeakRow& row : rows) {
    json::object object{{"name", valid_utf8(row.name)},
                        {"change_bytes", row.change()},
                        {"first", parts_object(row.first)},
                        {"second", parts_object(row.second)}};
    if (!row.second_name.empty()) {
      object["second_name"] = valid_utf8(row.second_name);
    }
    object["first"].as_object()[counted] = row.first_count;
    object["second"].as_object()[counted] = row.second_count;
    list.push_back(std::move(object));
  }
  return list;
}

json::object side_object(const WorkloadPeak& side) {
  json::object object = parts_object(side.peak.parts);
  object["device"] = side.workload.replay.device;
  object["operations"] = side.peak.moment.operations;
  object["step"] =
      side.peak.moment.step ? json::value(*side.peak.moment.step) : json::value(nullptr);
  for (const Figure& figure : figures()) {
    object[figure.key] = to_json(figure.of(side.workload.replay.result));
  }
  object["trust"] = valid_utf8(side.workload.trust());
  return object;
}

json::object changes_object(const PeakDiff& diff) {
  json::object object;
  const PeakRow& total = diff.change.total;
  for (const NamedPart& part : kMemoryParts) {
    object[part.key] = difference(total.first.*part.bytes, total.second.*part.bytes);
  }
  object["total_bytes"] = total.change();
  for (const Figure& figure : figures()) {
    object[figure.key] = to_json(change_of(figure.of(diff.first.workload.replay.result),
                                           figure.of(diff.second.workload.replay.result)));
  }
  return object;
}

}  // namespace

std::string peak_diff_text(const PeakDiff& diff, std::size_t top) {
  const PeakChange& change = diff.change;
  std::string text = "\n" + headline(diff) + "\n" + format_aligned(parts_table(change.total));
  text += rows_text(change.sites, top, {"By call site", "call site"});
  if (tells_categories(change.categories)) {
    text += rows_text(change.categories, top, {"By category", "category"});
  }
  text += rows_text(change.segments, top, {"By kind of segment", "kind", "count"}, true);
  text += "\n" + format_aligned(figures_table(diff));
  return text + fmt::format("\n- {}\n+ {}\n", printable(diff.first.workload.trust()),
                            printable(diff.second.workload.trust()));
}

json::object peak_diff_json(const PeakDiff& diff) {
  const PeakChange& change = diff.change;
  return {{"first", side_object(diff.first)},
          {"second", side_object(diff.second)},
          {"change", changes_object(diff)},
          {"sites", rows_array(change.sites, "blocks")},
          {"categories", rows_array(change.categories, "blocks")},
          {"segments", rows_array(change.segments, "segments")}};
}

}  // namespace highwater
