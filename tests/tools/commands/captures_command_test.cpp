// Command line: captures. What it says of a recording is what the program made so was recorded
// with.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;
using Catch::Contains;

namespace captures_command_test {

namespace json = boost::json;

namespace {

const std::string kEdits = HIGHWATER_SOURCE "/traces/recorded/edits/";

/// The row of an arrangement.
json::object arrangement(const json::object& device, std::string_view name) {
  for (const json::value& row : device.at("arrangements").as_array()) {
    if (row.at("arrangement").as_string() == name) {
      return row.as_object();
    }
  }
  FAIL("no arrangement " << name);
  return {};
}

}  // namespace

TEST_CASE("captures: sharing a pool saves nothing where each call makes a stream",
          "[cli][captures]") {
  const json::object answer =
      json_of("captures " + kEdits + "graphed-none-torch2.15.hwt.xz --orders 3");
  const json::object device = answer.at("devices").at(0).as_object();
  CHECK(device.at("marked").as_bool());
  CHECK(device.at("captures").as_array().size() == 6);
  CHECK(device.at("captures").at(0).at("graphs") == 2);
  const json::object recorded = arrangement(device, "as recorded");
  CHECK(arrangement(device, "one pool, streams as recorded").at("peak_reserved_bytes") ==
        recorded.at("peak_reserved_bytes"));
  const json::object shared = arrangement(device, "one pool, one stream");
  CHECK(shared.at("graph_pools_bytes") == 734003200);  // graphed-pool-and-stream, recorded
  CHECK(shared.at("peak_reserved_bytes") == 1342177280);
}

TEST_CASE("captures: replay and explain say what private pools hold", "[cli][captures]") {
  const std::string file = kEdits + "captures-none-torch2.15.hwt.xz";
  const std::string line =
      "reserved by private pools: 214.00 MiB of the peak, 214.00 MiB at the end";
  CHECK_THAT(run({"replay", file}).out, Contains(line));
  CHECK_THAT(run({"explain", file}).out, Contains(line));
  CHECK_THAT(run({"replay", kEdits + "none-torch2.15.hwt.xz"}).out, !Contains("private pools:"));
  for (const std::string& command : {"replay " + file, "explain " + file}) {
    const json::object answer = json_of(command);
    const json::array& pools = answer.at("devices").at(0).at("pools").as_array();
    REQUIRE(pools.size() == 5);  // the common ones and four captures
    std::int64_t all = 0;
    for (const json::value& pool : pools) {
      all += pool.at("at_peak_bytes").to_number<std::int64_t>();
    }
    CHECK(all == std::int64_t{576} << 20U);
  }
}

TEST_CASE("captures: the arrangement asked for is a row, and mistakes in it are told",
          "[cli][captures]") {
  const std::string file = kEdits + "captures-none-torch2.15.hwt.xz";
  const CommandRun asked = run({"captures", file, "--arrange", "pools=1+2/3+4"});
  CHECK_THAT(asked.out, Contains("all 24 orders were tried"));
  CHECK_THAT(asked.out, Contains("captures:pools=1+2/3+4"));
  CHECK_THAT(asked.out, Contains("514.00 MiB"));  // captures-two-pools, recorded
  CHECK_THAT(run({"captures", file, "--arrange", "order=5"}).err, Contains("no capture 5"));
  CHECK_THAT(run({"captures", file, "--arrange", "order=a"}).err, Contains("numbers of captures"));
}

TEST_CASE("captures: a run without any is bad input", "[cli][captures]") {
  const CommandRun none = run({"captures", kEdits + "none-torch2.15.hwt.xz"});
  CHECK(none.code == ExitCode::bad_input);
  CHECK_THAT(none.err, Contains("no captures of CUDA graphs"));
}

}  // namespace captures_command_test
