// Command line: `replay` of snapshots: which settings, which device, which version.
#include <fstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;

namespace {

const std::string kRecorded = HIGHWATER_SOURCE "/traces/recorded/fake/";

boost::json::object replay_json(Arguments arguments) {
  arguments.insert(arguments.begin(), "replay");
  arguments.insert(arguments.end(), {"--format", "json"});
  const CommandRun result = run(arguments);
  CAPTURE(result.err);
  REQUIRE(result.code == ExitCode::ok);
  return boost::json::parse(result.out).at("devices").at(0).as_object();
}

std::int64_t integer(const boost::json::object& object, std::string_view group,
                     std::string_view key) {
  return object.at(group).at(key).to_number<std::int64_t>();
}

}  // namespace

TEST_CASE("replay: a recording is replayed under its own settings unless told otherwise",
          "[cli][replay]") {
  const std::string file = kRecorded + "gpt2-fp32-varlen-expandable-limit2700.hwt.xz";
  const auto as_recorded = replay_json({file});
  CHECK(as_recorded.at("settings").as_string() == "expandable_segments:True");
  CHECK(as_recorded.contains("fidelity"));
  CHECK(integer(as_recorded, "peak", "reserved_bytes") ==
        integer(as_recorded, "fidelity", "peak_reserved_recorded_bytes"));
  CHECK(integer(as_recorded, "counts", "segment_unmap") == 3);

  const auto otherwise = replay_json({file, "--alloc-conf", ""});
  CHECK(otherwise.at("settings").as_string().empty());
  CHECK_FALSE(otherwise.contains("fidelity"));
  CHECK(integer(otherwise, "counts", "segment_map") == 0);
}

TEST_CASE("replay: the memory limit of a recording can be given to see its collections",
          "[cli][replay]") {
  const std::string file = kRecorded + "gpt2-fp32-varlen-gc60-limit3000.hwt.xz";
  const auto as_recorded = replay_json({file});
  const auto limited = replay_json({file, "--memory-limit", "3000MiB", "--capacity", "81050MiB"});
  CHECK(integer(limited, "peak", "reserved_bytes") ==
        integer(as_recorded, "peak", "reserved_bytes"));
  CHECK(integer(limited, "counts", "device_free") == integer(as_recorded, "counts", "device_free"));
  CHECK(integer(limited, "counts", "device_free") > 0);
}

TEST_CASE("replay: the same input gives the same bytes", "[cli][replay]") {
  const Arguments arguments{"replay", kRecorded + "gpt2-fsdp1x8-fp32-lag20.hwt.xz", "--format",
                            "json", "--decisions"};
  CHECK(run(arguments).out == run(arguments).out);
}
