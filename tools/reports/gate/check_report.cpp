#include "tools/reports/gate/check_report.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

/// A limit with the device that it was held against.
struct CheckRow {
  const CheckedDevice* device;
  const LimitCheck* limit;
};

std::vector<CheckRow> check_rows(const CheckResult& result) {
  std::vector<CheckRow> rows;
  for (const CheckedDevice& device : result.devices) {
    for (const LimitCheck& limit : device.limits) {
      rows.push_back({&device, &limit});
    }
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
      {"device", "device", right,
       [](const CheckRow& row) { return row.device->workload.replay.device; }},
      {"limit", "limit", left, [](const CheckRow& row) { return row.limit->limit; }},
      {"is_kept", "kept", left, [](const CheckRow& row) { return row.limit->is_kept; }},
      {"peak_reserved_bytes", "peak reserved", right,
       [](const CheckRow& row) { return row.device->reserved(); }},
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

void add_device(const CheckResult& result, const CheckedDevice& device, Report& report) {
  for (const LimitCheck& limit : device.limits) {
    report.line(check_line(result, device, limit));
    report.paragraph();
  }
  for (const std::string& note : device.notes) {
    report.line("note: " + note);
  }
  report.line(device.workload.trust());
}

}  // namespace

std::string check_line(const CheckResult& result, const CheckedDevice& device,
                       const LimitCheck& limit) {
  const std::string where =
      result.devices.size() > 1 ? fmt::format("device {}: ", device.workload.replay.device) : "";
  return fmt::format("{}: {}{}", limit.is_kept ? "ok" : "FAILED", where, limit.words);
}

std::string check_report(const CheckResult& result, OutputFormat format) {
  Report report(format, "highwater.check/1");
  for (const CheckedDevice& device : result.devices) {
    add_device(result, device, report);
  }
  report.csv([&] { return tabulate("", check_columns(), check_rows(result)); });
  report.value("subject", result.subject);
  report.value("is_kept", result.is_kept());
  report.json("limits",
              [&] { return rows_json(tabulate("", check_columns(), check_rows(result))); });
  report.json("notes", [&] {
    return lines_of(result, [](const CheckedDevice& device) { return device.notes; });
  });
  report.json("trust", [&] {
    return lines_of(
        result, [](const CheckedDevice& device) { return std::vector{device.workload.trust()}; });
  });
  return report.str();
}

}  // namespace highwater
