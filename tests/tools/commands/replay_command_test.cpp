// Command line: `replay` of snapshots: which settings, which device, which version.
#include <fstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;
using Catch::Contains;

namespace replay_command_test {

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

TEST_CASE("replay: other settings get no more memory than the recording had", "[cli][replay]") {
  const std::string file = kRecorded + "gpt2-fp32-varlen-capacity2700.hwt.xz";
  const auto kept = replay_json({file, "--alloc-conf", "roundup_power2_divisions:4"});
  const auto given =
      replay_json({file, "--alloc-conf", "roundup_power2_divisions:4", "--capacity", "2700MiB"});
  CHECK(integer(given, "counts", "ooms") > 0);
  CHECK(integer(kept, "counts", "ooms") == integer(given, "counts", "ooms"));
  CHECK(integer(kept, "peak", "reserved_bytes") <= 2700LL << 20);
  const auto larger =
      replay_json({file, "--alloc-conf", "roundup_power2_divisions:4", "--capacity", "80GiB"});
  CHECK(integer(larger, "counts", "ooms") == 0);
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

TEST_CASE("replay: the account of a failure names the limit and invents no device memory",
          "[cli][replay]") {
  const test::TempDir folder;
  const std::string file = (folder.path() / "oom.trace").string();
  std::ofstream(file) << "conf \na 1 10485760 7\na 2 104857600 7\n";
  const Arguments limited{"replay", file, "--memory-limit", "50MiB"};
  CHECK_THAT(run(limited).out,
             Contains("needs 100.00 MiB from the device, the memory limit allows 40.00 MiB more; "
                      "reserved 10.00 MiB"));
  const auto oom = replay_json({file, "--memory-limit", "50MiB"}).at("ooms").at(0).as_object();
  CHECK(oom.at("device_free_bytes").is_null());
  CHECK(oom.at("allowed_bytes").to_number<std::int64_t>() == 50 << 20);
  CHECK(oom.at("pools").at(0).at("stream").to_number<std::int64_t>() == 7);

  const CommandRun both = run({"replay", file, "--memory-limit", "50MiB", "--capacity", "200MiB"});
  CHECK_THAT(both.out, Contains("which has 190.00 MiB free, and the memory limit allows 40.00 MiB "
                                "more; reserved"));
}

TEST_CASE("replay: refused empty_cache calls are told, and how many failures are listed",
          "[cli][replay]") {
  const test::TempDir folder;
  const std::string file = (folder.path() / "pool.trace").string();
  std::ofstream trace(file);
  trace << "conf \ndevice 2097152\npool_begin 1\nc\nc\n";
  for (int id = 0; id < 20; ++id) {
    trace << "a " << id << " 104857600 0\n";
  }
  trace.close();
  const auto replay = replay_json({file});
  CHECK(integer(replay, "counts", "refused_empty_caches") == 2);
  CHECK(integer(replay, "counts", "ooms") == 20);
  CHECK(replay.at("ooms_listed").to_number<std::int64_t>() == 16);
  CHECK_THAT(run({"replay", file}).out,
             Contains("note: 2 empty_cache calls inside a pool session: PyTorch 2.6 asserts there, "
                      "so nothing was released") &&
                 Contains("and 4 more"));
  CHECK_THAT(run({"replay", file, "--torch", "2.11"}).out, !Contains("empty_cache"));
  CHECK_THAT(run({"replay", file, "--format", "csv"}).out, Contains("0,trust,\"trust: PyTorch"));
}

TEST_CASE("replay: the timeline's highest points are the peaks", "[cli][replay]") {
  const auto device = replay_json({kRecorded + "gpt2-fp32-adamw-default.hwt.xz", "--timeline"});
  for (const std::string curve : {"requested", "allocated", "active", "reserved"}) {
    std::int64_t highest = 0;
    for (const auto& value : device.at("timeline").at(curve).at("high").as_array()) {
      highest = std::max(highest, value.to_number<std::int64_t>());
    }
    CHECK(highest == integer(device, "peak", curve + "_bytes"));
  }
}

TEST_CASE("replay: following a recording by another release's model is no what-if, and says so",
          "[cli][replay]") {
  const std::string file = kRecorded + "gpt2-fp32-adamw-default.hwt.xz";
  CHECK_THAT(run({"replay", file, "--torch", "2.15"}).out,
             Contains("followed with the model of another release, 2.15"));
  CHECK_THAT(run({"replay", file, "--torch", "2.6"}).out, !Contains("another release"));
  CHECK_THAT(run({"replay", file, "--torch", "2.15", "--capacity", "9GiB"}).out,
             !Contains("another release"));
}

}  // namespace replay_command_test
