// Command line: the peak view of `diff`.
#include <filesystem>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;
using Catch::Contains;

namespace diff_peak_test {

namespace {

const std::string kRecorded = HIGHWATER_SOURCE "/traces/recorded/fake/";

boost::json::object json_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{"diff"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  all.insert(all.end(), {"--format", "json"});
  const CommandRun result = run(all);
  REQUIRE(result.err.empty());
  return boost::json::parse(result.out).as_object();
}

std::int64_t sum(const boost::json::value& rows, const char* side, const char* key) {
  std::int64_t total = 0;
  for (const boost::json::value& row : rows.as_array()) {
    total += row.at(side).at(key).as_int64();
  }
  return total;
}

/// Every part of every list sums to that of both sides, and the changes to the change.
void check_sums(const boost::json::object& peak) {
  for (const char* list : {"sites", "categories", "segments"}) {
    CAPTURE(list);
    for (const char* side : {"first", "second"}) {
      for (const char* part :
           {"requested_bytes", "rounding_bytes", "tails_bytes", "waiting_bytes",
            "free_in_split_bytes", "free_whole_bytes", "passing_bytes", "total_bytes"}) {
        CHECK(sum(peak.at(list), side, part) == peak.at(side).at(part).as_int64());
      }
    }
    std::int64_t change = 0;
    for (const boost::json::value& row : peak.at(list).as_array()) {
      change += row.at("change_bytes").as_int64();
    }
    CHECK(change == peak.at("change").at("total_bytes").as_int64());
  }
}

std::string sawtooth(const test::TempDir& folder) {
  std::ofstream(folder / "a.trace") << "conf \na x 512 0\na y 3145728 0\nf x\n";
  return (folder / "a.trace").string();
}

}  // namespace

TEST_CASE("diff: the peaks of two recordings, apart to the byte", "[cli][diff]") {
  const std::string first = kRecorded + "gpt2-fp32-sdpa.hwt.xz";
  const std::string second = kRecorded + "gpt2-fp32-eager.hwt.xz";
  const auto report = json_of({first, second, "--view", "peak"});
  CHECK(report.at("schema").as_string() == "highwater.diff/1");
  CHECK_FALSE(report.contains("phases"));
  const boost::json::object& peak = report.at("peak").as_object();
  check_sums(peak);
  const auto reserved = [&](const std::string& file) {
    const auto replayed =
        boost::json::parse(run({"replay", file, "--format", "json"}).out).as_object();
    return replayed.at("devices").at(0).at("peak").at("reserved_bytes").as_int64();
  };
  CHECK(peak.at("first").at("total_bytes").as_int64() == reserved(first));
  CHECK(peak.at("second").at("total_bytes").as_int64() == reserved(second));
}

TEST_CASE("diff: the peak view comes before the requests", "[cli][diff]") {
  const std::string first = kRecorded + "gpt2-fp32-sdpa.hwt.xz";
  const std::string second = kRecorded + "gpt2-fp32-eager.hwt.xz";
  const std::string text = run({"diff", first, second, "--top", "2"}).out;
  CHECK_THAT(text, Contains("Peak reserved ") && Contains("By kind of segment") &&
                       Contains("more rows (--top)") && Contains("First difference"));
  CHECK(text.find("Peak reserved") < text.find("First difference"));
  CHECK_THAT(run({"diff", first, second, "--view", "requests"}).out, !Contains("Peak reserved"));
  CHECK_THAT(run({"diff", first, second, "--step", "1"}).out, !Contains("Peak reserved"));
}

TEST_CASE("diff: one file under other settings", "[cli][diff]") {
  const test::TempDir folder;
  const std::string file = sawtooth(folder);
  // 2 + 20 MiB in fixed segments; the same pages when they are expandable.
  const auto report = json_of({file, "--alloc-conf-b", "expandable_segments:True"});
  CHECK(report.at("second").as_string() == file + " under expandable_segments:True");
  const boost::json::object& peak = report.at("peak").as_object();
  check_sums(peak);
  CHECK(peak.at("first").at("total_bytes").as_int64() == 22 << 20);
  CHECK(peak.at("second").at("total_bytes").as_int64() == 22 << 20);
  CHECK(peak.at("segments").as_array().size() == 4);
  // 10 MiB of memory: the second request fails, and what was there stays the peak.
  const auto small = json_of({file, file, "--capacity-b", "10MiB"}).at("peak").as_object();
  CHECK(small.at("change").at("total_bytes").as_int64() == -(20 << 20));
  CHECK(small.at("change").at("ooms").as_int64() == 1);
  CHECK_THAT(run({"diff", file, "--capacity-b", "10MiB"}).out,
             Contains("Peak reserved 22.00 MiB -> 2.00 MiB: -20.00 MiB (-90.9 %)"));
}

TEST_CASE("diff: one file by the allocators of two releases", "[cli][diff]") {
  // 2.12 takes the free block that came into being first among equals, 2.6 the one with the lowest
  // address (allocator/version.hpp).
  const std::string file = kRecorded + "long-llama-1b-default.hwt.xz";
  const auto report = json_of({file, "--torch-b", "2.12"});
  CHECK(report.at("second").as_string() == file + " under PyTorch 2.12");
  const boost::json::object& peak = report.at("peak").as_object();
  check_sums(peak);
  CHECK(peak.at("change").at("total_bytes").as_int64() != 0);
  CHECK_THAT(std::string(peak.at("second").at("trust").as_string()),
             Contains("PyTorch 2.12 model"));
  CHECK(run({"diff", file, "--torch-b", "1.7"}).code == ExitCode::usage);
}

TEST_CASE("diff: the settings of a recording that followed it", "[cli][diff]") {
  const std::string file = kRecorded + "gpt2-fp32-varlen-capacity2700.hwt.xz";
  const auto peak =
      json_of({file, file, "--alloc-conf-b", "expandable_segments:True"}).at("peak").as_object();
  check_sums(peak);
  CHECK(peak.at("first").at("free_in_split_bytes").as_int64() > 0);
  CHECK_THAT(std::string(peak.at("first").at("trust").as_string()), Contains("fidelity"));
}

TEST_CASE("diff: a real snapshot without a trace is compared by its state", "[cli][diff]") {
  const std::string file = std::string(HIGHWATER_SHARED_DATA) +
                           "/snapshots/verl__rl_private_pools_pending_free.pickle.xz";
  if (!std::filesystem::exists(file)) {
    WARN("skipped: not there: " << file);
    return;
  }
  const auto report = json_of({file, "--alloc-conf-b", "max_split_size_mb:128"});
  const boost::json::object& peak = report.at("peak").as_object();
  check_sums(peak);
  CHECK(peak.at("first").at("operations").as_int64() == 0);
  // The state is there from the beginning in one, its blocks are allocated in the other.
  CHECK(peak.at("first").at("device_alloc").as_int64() == 0);
  CHECK(peak.at("second").at("device_alloc").as_int64() > 0);
  CHECK_THAT(std::string(report.at("notes").at(0).as_string()),
             Contains("device allocations of + include"));
}

TEST_CASE("diff: wrong use of the peak view is explained", "[cli][diff]") {
  const test::TempDir folder;
  const std::string file = sawtooth(folder);
  CHECK_THAT(run({"diff", file, "--view", "peak"}).err, Contains("needs a second file"));
  CHECK_THAT(run({"diff", file, file, "--view", "all of it"}).err,
             Contains("use peak, blocks, requests or all"));
  CHECK_THAT(run({"diff", file, "--alloc-conf-b", "x:1", "--view", "requests"}).err,
             Contains("not its requests"));
  CHECK(run({"diff", file, "--alloc-conf-b", "no_such_option:1"}).code == ExitCode::usage);
  CHECK_THAT(run({"diff", file, file, "--top", "0"}).err,
             Contains("--top 0: not a valid count; use 1 or more"));
  CHECK_THAT(run({"diff", file, file, "--device", "3"}).err, Contains("--device 3"));
}

}  // namespace diff_peak_test
