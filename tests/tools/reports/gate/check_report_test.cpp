// One line for each limit of each device.
#include "tools/reports/gate/check_report.hpp"

#include <catch2/catch.hpp>

using namespace highwater;
using namespace highwater::literals;

namespace {

LimitCheck limit_of(bool is_kept, const std::string& words) {
  return {.limit = "max-reserved 1.00 GiB", .is_kept = is_kept, .words = words};
}

CheckedDevice device_of(int number, Bytes reserved, std::vector<LimitCheck> limits) {
  CheckedDevice device;
  device.workload.replay.device = number;
  device.workload.replay.result.peak.reserved = reserved;
  device.limits = std::move(limits);
  return device;
}

}  // namespace

TEST_CASE("check report: a device is named where there are several", "[reports][gate]") {
  CheckResult result;
  result.devices.push_back(device_of(3, 1_MiB, {limit_of(true, "1.00 MiB")}));
  CHECK(check_line(result, check_rows(result)[0]) == "ok: 1.00 MiB");
  result.missing.push_back({5, limit_of(false, "not in the run")});
  const std::vector<CheckRow> rows = check_rows(result);
  REQUIRE(rows.size() == 2);
  CHECK(check_line(result, rows[0]) == "ok: device 3: 1.00 MiB");
  CHECK(check_line(result, rows[1]) == "FAILED: device 5: not in the run");
}

TEST_CASE("check report: every limit of a device before the next, missing devices last",
          "[reports][gate]") {
  CheckResult result;
  result.missing.push_back({0, limit_of(false, "gone")});
  result.devices.push_back(device_of(1, 1_MiB, {limit_of(true, "a"), limit_of(false, "b")}));
  result.devices.push_back(device_of(2, 2_MiB, {limit_of(true, "c")}));
  std::string order;
  for (const CheckRow& row : check_rows(result)) {
    order += row.limit->words + (row.reserved ? " " : "");
  }
  CHECK(order == "a b c gone");
}

TEST_CASE("check report: CSV without figures has blanks, without limits its header alone",
          "[reports][gate]") {
  CheckResult result;
  const std::string header = "device,limit,kept,peak reserved,measured against,allowed,message\n";
  CHECK(check_report(result, OutputFormat::csv) == header);
  result.missing.push_back({4, limit_of(false, "gone, or renamed")});
  CHECK(check_report(result, OutputFormat::csv) ==
        header + "4,max-reserved 1.00 GiB,false,,,,\"gone, or renamed\"\n");
  LimitCheck limit = limit_of(true, "fits");
  limit.budget = Budget{.base = 1_GiB, .allowed = 2_GiB};
  result.missing = {{4, limit}};
  CHECK(check_report(result, OutputFormat::csv) ==
        header + "4,max-reserved 1.00 GiB,true,,1073741824,2147483648,fits\n");
}
