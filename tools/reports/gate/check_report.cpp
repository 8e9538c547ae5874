#include "tools/reports/gate/check_report.hpp"

#include <algorithm>
#include <iterator>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/replay_report.hpp"
#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

std::vector<CheckRow> rows_of(const CheckedDevice& device) {
  std::vector<CheckRow> rows;
  for (const LimitCheck& limit : device.limits) {
    rows.push_back({device.number(), device.reserved(), &limit});
  }
  return rows;
}

std::vector<CheckRow> missing_rows(const CheckResult& result) {
  std::vector<CheckRow> rows;
  for (const MissingDevice& device : result.missing) {
    rows.push_back({device.device, std::nullopt, &device.limit});
  }
  return rows;
}

/// Blank where no figures were compared.
template <class Value>
auto of_budget(Value value) {
  return [value](const CheckRow& row) {
    return row.limit->budget ? Cell(std::invoke(value, *row.limit->budget)) : Cell::blank();
  };
}

const Columns<CheckRow>& check_columns() {
  using enum Align;
  static const Columns<CheckRow> kColumns{
      {"device", "device", right, &CheckRow::device},
      {"limit", "limit", left, [](const CheckRow& row) { return row.limit->limit; }},
      {"is_kept", "kept", left, [](const CheckRow& row) { return row.limit->is_kept; }},
      {"peak_reserved_bytes", "peak reserved", right, &CheckRow::reserved},
      {"base_bytes", "measured against", right, of_budget(&Budget::base)},
      {"allowed_bytes", "allowed", right, of_budget(&Budget::allowed)},
      {"message", "message", left, [](const CheckRow& row) { return row.limit->words; }}};
  return kColumns;
}

boost::json::array lines_of(
    const CheckResult& result,
    const std::function<std::vector<std::string>(const CheckedDevice&)>& of) {
  boost::json::array list;
  for (const CheckedDevice& device : result.devices) {
    for (const std::string& line : of(device)) {
      list.emplace_back(valid_utf8(line));
    }
  }
  return list;
}

/// What a reader of the figures should know, and what differs from the run of the baseline.
std::vector<std::string> notes_of(const CheckedDevice& device) {
  std::vector<std::string> notes = replay_notes(device.workload.replay);
  notes.insert(notes.end(), device.notes.begin(), device.notes.end());
  return notes;
}

void add_lines(const CheckResult& result, const std::vector<CheckRow>& rows, Report& report) {
  for (const CheckRow& row : rows) {
    report.line(check_line(result, row));
    report.paragraph();
  }
}

void add_device(const CheckResult& result, const CheckedDevice& device, Report& report) {
  add_first_line(device.workload.replay, report);
  add_lines(result, rows_of(device), report);
  add_notes(device.workload.replay, report);
  for (const std::string& note : device.notes) {
    report.line("note: " + note);
  }
  report.line(device.workload.trust());
}

}  // namespace

std::vector<CheckRow> check_rows(const CheckResult& result) {
  std::vector<CheckRow> rows;
  for (const CheckedDevice& device : result.devices) {
    std::ranges::move(rows_of(device), std::back_inserter(rows));
  }
  std::ranges::move(missing_rows(result), std::back_inserter(rows));
  return rows;
}

std::string check_line(const CheckResult& result, const CheckRow& row) {
  const bool is_one_of_several = result.devices.size() + result.missing.size() > 1;
  return fmt::format("{}: {}{}", row.limit->is_kept ? "ok" : "FAILED",
                     is_one_of_several ? fmt::format("device {}: ", row.device) : "",
                     row.limit->words);
}

std::string check_report(const CheckResult& result, OutputFormat format) {
  Report report(format, "highwater.check/1");
  for (const CheckedDevice& device : result.devices) {
    add_device(result, device, report);
  }
  add_lines(result, missing_rows(result), report);
  report.csv([&] { return tabulate("", check_columns(), check_rows(result)); });
  report.value("subject", result.subject);
  report.value("is_kept", result.is_kept());
  report.json("limits",
              [&] { return rows_json(tabulate("", check_columns(), check_rows(result))); });
  report.json("notes", [&] { return lines_of(result, notes_of); });
  report.json("trust", [&] {
    return lines_of(
        result, [](const CheckedDevice& device) { return std::vector{device.workload.trust()}; });
  });
  return report.str();
}

}  // namespace highwater
