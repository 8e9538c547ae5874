// Command line: `diff` of two traces, and the errors of what cannot be compared.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;
using Catch::Contains;

namespace diff_command_test {

namespace {

const std::string kRecorded = HIGHWATER_SOURCE "/traces/recorded/fake/";

std::string write(const test::TempDir& folder, std::string_view name, std::string_view text) {
  std::ofstream(folder / name) << text;
  return (folder / name).string();
}

std::string sawtooth(const test::TempDir& folder) {
  return write(folder, "a.trace", "conf \nstep 1\nphase forward\na x 512 0\na y 3145728 0\nf x\n");
}

}  // namespace

TEST_CASE("diff: shows what is on one side only", "[cli][diff]") {
  const test::TempDir folder;
  const std::string first = sawtooth(folder);
  const std::string second =
      write(folder, "b.trace",
            "conf \nstep 1\nphase forward\na x 512 0\na z 1024 0\na y 3145728 0\nf x\n");
  const CommandRun result = run({"diff", first, second});
  CHECK(result.code == ExitCode::ok);
  CHECK_THAT(result.out, Contains("@@ step 1 forward 0, lines 1-4 of 4 @@"));
  CHECK_THAT(result.out, Contains("+ alloc #1"));
  CHECK_THAT(result.out, Contains("0 of 3 requests only in -, 1 of 4 only in +"));
  const auto json =
      boost::json::parse(run({"diff", first, second, "--format", "json"}).out).as_object();
  CHECK_FALSE(json.at("equal").as_bool());
  CHECK(json.at("phases").at(0).at("only_second").as_int64() == 1);
  CHECK(json.at("phases").at(0).at("second").at("peak_bytes").as_int64() == 3147264);
}

TEST_CASE("diff: a trace equals itself", "[cli][diff]") {
  const test::TempDir folder;
  const std::string file = sawtooth(folder);
  CHECK_THAT(run({"diff", file, file}).out, Contains("equal: all 3 requests"));
  const std::string recording = kRecorded + "gpt2-fp32-sdpa.hwt.xz";
  CHECK_THAT(run({"diff", recording, recording}).out, Contains("step 2 backward 0"));
}

TEST_CASE("diff: only the phases asked for", "[cli][diff]") {
  const std::string file = kRecorded + "gpt2-fp32-sdpa.json.xz";
  const std::string text = run({"diff", file, file, "--step", "1", "--phase", "forward"}).out;
  CHECK_THAT(text, Contains("step 1 forward 0"));
  CHECK_THAT(text, !Contains("step 2") && !Contains("backward"));
  CHECK(run({"diff", file, file, "--step", "99"}).code == ExitCode::usage);
  CHECK_THAT(run({"diff", file, file, "--phase", "foo"}).err, Contains("no phase matches"));
}

TEST_CASE("diff: wrong usage and missing files are explained", "[cli][diff]") {
  CHECK_THAT(run({"diff"}).err, Contains("two traces"));
  CHECK(run({"diff", "a", "b", "c"}).code == ExitCode::usage);
  CHECK(run({"diff", "nosuch.trace", "nosuch.trace"}).code == ExitCode::bad_input);
  const test::TempDir folder;
  const std::string file = sawtooth(folder);
  CHECK_THAT(run({"diff", file}).err, Contains("no description X.json in its folder"));
  CHECK_THAT(run({"diff", file, file, "--context", "-1"}).err, Contains("--context -1"));
  CHECK_THAT(run({"diff", file, file, "--format", "csv"}).err,
             Contains("only --format table and json"));
  const std::string alone = write(folder, "X.json", R"({"case": {"id": "X"}})");
  CHECK_THAT(run({"diff", alone}).err, Contains("but its recording is missing"));
  CHECK_THAT(run({"diff", alone, file}).err, Contains("but its recording is missing"));
}

TEST_CASE("diff: a snapshot as JSON is a file, also beside a recording of its name",
          "[cli][diff]") {
  const test::TempDir folder;
  const std::string snapshot = write(folder, "X.json", R"({"segments": [], "device_traces": [[
    {"action": "alloc", "addr": 4096, "size": 1000, "stream": 0},
    {"action": "free_completed", "addr": 4096, "size": 1000, "stream": 0}]]})");
  const CommandRun alone = run({"diff", snapshot, snapshot, "--view", "requests"});
  INFO(alone.err);
  CHECK_THAT(alone.out, Contains("equal: all"));
  write(folder, "X.pickle", "not looked at");
  CHECK(run({"diff", snapshot, snapshot, "--view", "requests"}).out == alone.out);
}

TEST_CASE("diff: a report beside a recording does not describe it", "[cli][diff]") {
  const test::TempDir folder;
  const std::string recording = folder / "X.pickle";
  REQUIRE(run_line("export --model gpt2 --batch 1 --seq 16 --steps 1 --output " + recording).code ==
          ExitCode::ok);
  write(folder, "X.json", run({"replay", recording, "--format", "json"}).out);
  const CommandRun result = run({"diff", recording, recording});
  INFO(result.err);
  CHECK(result.code == ExitCode::ok);
  CHECK_THAT(result.out, Contains("no description beside the recording"));
}

}  // namespace diff_command_test
