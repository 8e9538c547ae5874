#include "tools/reports/peak_diff_report.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/replay_report.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

std::string signed_change(std::int64_t bytes) {
  return bytes == 0 ? "=" : to_iec_signed(bytes);
}

/// A part of reserved memory with its key in JSON and its words.
struct Part {
  const char* key;
  const char* label;
  Bytes MemoryBreakdown::*bytes;
};

constexpr std::array<Part, 7> kParts{{
    {"requested_bytes", "requested", &MemoryBreakdown::requested},
    {"rounding_bytes", "rounding of sizes", &MemoryBreakdown::rounding},
    {"tails_bytes", "block ends too small to split off", &MemoryBreakdown::tails},
    {"waiting_bytes", "freed, waiting for other streams", &MemoryBreakdown::waiting},
    {"free_in_split_bytes", "free in segments in use", &MemoryBreakdown::free_in_split},
    {"free_whole_bytes", "free whole segments (cached)", &MemoryBreakdown::free_whole},
    {"passing_bytes", "reserved within one operation only", &MemoryBreakdown::passing},
}};

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
      {"fragmentation_at_peak", "unused share at the peak of reserved",
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
                                 signed_change(diff.change.total.change()));
  if (first != second && first > Bytes{0}) {
    text += fmt::format(" ({})", percent_text(static_cast<double>(diff.change.total.change()) /
                                              static_cast<double>(first.count())));
  }
  return text + fmt::format("\n  - {}, + {}\n", moment_text(diff.first.peak),
                            moment_text(diff.second.peak));
}

std::vector<std::string> cells(const std::string& name, Bytes first, Bytes second) {
  return {name, to_iec(first), to_iec(second), signed_change(difference(first, second))};
}

TextTable parts_table(const PeakRow& total) {
  TextTable table;
  table.title = "What the reserved memory is at each side's peak";
  table.columns = {"part", "-", "+", "change"};
  table.right_aligned = {false, true, true, true};
  for (const Part& part : kParts) {
    const Bytes first = total.first.*part.bytes;
    const Bytes second = total.second.*part.bytes;
    if (part.bytes != &MemoryBreakdown::passing || first != second || first > Bytes{0}) {
      table.rows.push_back(cells(part.label, first, second));
    }
  }
  table.rows.push_back(cells("total", total.first.total(), total.second.total()));
  return table;
}

TextTable figures_table(const PeakDiff& diff) {
  TextTable table;
  table.title = "Of the whole run";
  table.columns = {"figure", "-", "+", "change"};
  table.right_aligned = {false, true, true, true};
  for (const Figure& figure : figures()) {
    const MetricValue first = figure.of(diff.first.workload.replay.result);
    const MetricValue second = figure.of(diff.second.workload.replay.result);
    table.rows.push_back(
        {figure.label, to_text(first), to_text(second), change_text(first, second)});
  }
  return table;
}

/// A list of rows as a table: the first `top`, the rest in one row, remainders, total.
class RowsTable {
 public:
  RowsTable(const char* title, const char* what, const char* counted, bool has_parts)
      : has_parts_(has_parts) {
    table_.title = title;
    table_.columns = {"-", "+", "change", fmt::format("{} -", counted),
                      fmt::format("{} +", counted)};
    if (has_parts) {
      table_.columns.insert(table_.columns.end(), {"in use", "free in them", "free whole"});
    }
    table_.right_aligned.assign(table_.columns.size(), true);
    table_.columns.emplace_back(what);
    table_.right_aligned.push_back(false);
  }

  std::string text(const PeakRows& rows, std::size_t top) {
    const auto held = static_cast<std::size_t>(
        std::ranges::find(rows, true, &PeakRow::is_remainder) - rows.begin());
    const std::size_t shown = std::min(top, held);
    for (std::size_t i = 0; i < shown; ++i) {
      add(rows[i], name_of(rows[i]));
    }
    if (shown < held) {
      add(sum_of(rows, shown, held), fmt::format("... {} more rows (--top)", held - shown));
    }
    for (std::size_t i = held; i < rows.size(); ++i) {
      add(rows[i], rows[i].name);
    }
    add(sum_of(rows, 0, rows.size()), "total");
    return format_aligned(table_);
  }

 private:
  static std::string name_of(const PeakRow& row) {
    return row.second_name.empty() ? row.name : row.name + "  |  " + row.second_name;
  }

  void add(const PeakRow& row, const std::string& name) {
    const auto count = [&](std::uint64_t number) {
      return row.is_remainder ? std::string("-") : std::to_string(number);
    };
    std::vector<std::string> cells{to_iec(row.first.total()), to_iec(row.second.total()),
                                   signed_change(row.change()), count(row.first_count),
                                   count(row.second_count)};
    if (has_parts_) {
      cells.push_back(signed_change(difference(row.first.in_use(), row.second.in_use())));
      cells.push_back(signed_change(difference(row.first.free_in_split, row.second.free_in_split)));
      cells.push_back(signed_change(difference(row.first.free_whole, row.second.free_whole)));
    }
    cells.push_back(name);
    table_.rows.push_back(std::move(cells));
  }

  bool has_parts_;
  TextTable table_;
};

/// Recordings know no categories: one row of all would say nothing.
bool tells_categories(const PeakRows& rows) {
  return std::ranges::any_of(rows, [](const PeakRow& row) {
    return !row.is_remainder && row.name != to_string(Category::unknown);
  });
}

json::object parts_object(const MemoryBreakdown& parts) {
  json::object object;
  for (const Part& part : kParts) {
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

json::value exact(const MetricValue& value) {
  MetricList list;
  list.add("value", "", value);
  return to_json(list).at("value");
}

json::object side_object(const WorkloadPeak& side) {
  json::object object = parts_object(side.peak.parts);
  object["device"] = side.workload.replay.device;
  object["operations"] = side.peak.moment.operations;
  object["step"] =
      side.peak.moment.step ? json::value(*side.peak.moment.step) : json::value(nullptr);
  for (const Figure& figure : figures()) {
    object[figure.key] = exact(figure.of(side.workload.replay.result));
  }
  object["trust"] = valid_utf8(side.workload.trust());
  return object;
}

json::object changes_object(const PeakDiff& diff) {
  json::object object;
  const PeakRow& total = diff.change.total;
  for (const Part& part : kParts) {
    object[part.key] = difference(total.first.*part.bytes, total.second.*part.bytes);
  }
  object["total_bytes"] = total.change();
  for (const Figure& figure : figures()) {
    object[figure.key] = exact(change_of(figure.of(diff.first.workload.replay.result),
                                         figure.of(diff.second.workload.replay.result)));
  }
  return object;
}

}  // namespace

std::string peak_diff_text(const PeakDiff& diff, std::size_t top) {
  const PeakChange& change = diff.change;
  std::string text = "\n" + headline(diff) + "\n" + format_aligned(parts_table(change.total));
  text += "\n" + RowsTable("By call site", "call site", "blocks", false).text(change.sites, top);
  if (tells_categories(change.categories)) {
    text +=
        "\n" + RowsTable("By category", "category", "blocks", false).text(change.categories, top);
  }
  text += "\n" + RowsTable("By kind of segment", "kind", "count", true).text(change.segments, top);
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
