// Command line: reduce. What it writes shows what was asked for when it is replayed.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;
using Catch::Contains;

namespace reduce_command_test {

namespace json = boost::json;

namespace {

const std::string kFake = HIGHWATER_SOURCE "/traces/recorded/fake/";
const std::string kOutOfMemory = kFake + "gpt2-fp32-varlen-capacity2700.hwt.xz";
const std::string kLong = kFake + "long-llama-1b-default.hwt.xz";

std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

json::object device(const std::string& line) {
  return json_of(line).at("devices").at(0).as_object();
}

}  // namespace

TEST_CASE("reduce: a failure that is replayed fails at its last request", "[cli][reduce]") {
  const test::TempDir folder;
  const std::string small = (folder.path() / "small.trace").string();
  const json::object answer = json_of("reduce " + kOutOfMemory + " --keep oom --output " + small);
  CHECK(answer.at("keep") == "oom");
  CHECK(answer.at("cause") == "fragmentation");
  CHECK(answer.at("is_minimal") == true);
  const auto operations = answer.at("programs").at(1).at("operations").to_number<std::uint64_t>();
  CHECK(operations < answer.at("programs").at(0).at("operations").to_number<std::uint64_t>() / 4);

  const json::object replay = device("replay " + small + " --capacity 2700MiB");
  CHECK(replay.at("counts").at("ooms") == 1);
  CHECK(replay.at("ooms").at(0).at("operation") == operations - 1);
  const json::object cause = device("explain " + small + " --capacity 2700MiB");
  CHECK(cause.at("cause") == "fragmentation");
}

TEST_CASE("reduce: the same file gives the same bytes", "[cli][reduce]") {
  const test::TempDir folder;
  const std::string first = (folder.path() / "first.trace").string();
  const std::string second = (folder.path() / "second.trace").string();
  for (const std::string& path : {first, second}) {
    REQUIRE(run({"reduce", kLong, "--keep", "fragmentation>=40%", "--output", path}).code ==
            ExitCode::ok);
  }
  CHECK(content(first) == content(second));
  const json::object replay = device("replay " + first);
  CHECK(replay.at("fragmentation").at("peak").to_number<double>() >= 0.4);
}

TEST_CASE("reduce: a script makes the requests of the trace", "[cli][reduce]") {
  const test::TempDir folder;
  const std::string input = (folder.path() / "in.trace").string();
  std::ofstream(input) << "conf max_split_size_mb:200\nframe 0 7 a\"b.py\tf\\nun\nstack 1 0\n"
                          "a x 62914560 0\nf x\na y 46137344 0 @1\na p 12582912 0\n"
                          "r y 7\nf y\na z 46137344 0\n";
  const CommandRun result = run({"reduce", input, "--keep", "oom", "--capacity", "100MiB",
                                 "--script", (folder.path() / "small.py").string()});
  INFO(result.err);
  REQUIRE(result.code == ExitCode::ok);
  const std::string script = content(folder.path() / "small.py");
  CHECK_THAT(script,
             Contains("os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = \"max_split_size_mb:200\""));
  CHECK_THAT(script, Contains("MOST = 104857600"));
  CHECK_THAT(script, Contains("# a'b.py"));
  CHECK_THAT(script, Contains("keep_busy(stream1)\nblock1.record_stream(stream1)\ndel block1\n"));
  CHECK_THAT(script, Contains("except torch.cuda.OutOfMemoryError"));
}

// Cached memory is out of reach inside the capture only; the default stream cannot be captured.
TEST_CASE("reduce: a script captures what was captured", "[cli][reduce]") {
  const test::TempDir folder;
  const std::string trace = (folder.path() / "capture.trace").string();
  std::ofstream(trace) << "conf \ndevice 104857600\ntorch 2.15\na 1 62914560 0\nf 1\n"
                          "pool_begin 1 capture\na 2 52428800 7\npool_end 1\n";
  const std::string path = (folder.path() / "small.py").string();
  REQUIRE(run({"reduce", trace, "--keep", "oom", "--script", path}).code == ExitCode::ok);
  CHECK_THAT(content(path), Contains("graph1 = torch.cuda.CUDAGraph()\n"
                                     "with torch.cuda.stream(capture_stream): "
                                     "graph1.capture_begin(pool=(1, 0))\n"
                                     "try:\n"
                                     "    with torch.cuda.stream(capture_stream): block1 = "
                                     "empty(50331648)"));
}

TEST_CASE("reduce: mistakes are told before the search", "[cli][reduce]") {
  const auto problem = [](Arguments arguments) {
    arguments.insert(arguments.begin(), {"reduce", kOutOfMemory});
    const CommandRun result = run(arguments);
    CHECK(result.code == ExitCode::usage);
    CHECK(result.out.empty());
    return result.err;
  };
  CHECK_THAT(problem({"--keep", "oom"}), Contains("add --output small.trace or --script small.py"));
  CHECK_THAT(problem({"--script", "x.py"}), Contains("missing --keep oom"));
  CHECK_THAT(problem({"--keep", "peak", "--script", "x.py"}), Contains("--keep 'peak>=20GiB'"));
  CHECK_THAT(problem({"--keep", "peak>=much", "--script", "x.py"}), Contains("not a size"));
  CHECK_THAT(problem({"--keep", "fragmentation>=130%", "--script", "x.py"}),
             Contains("not a share"));
  CHECK_THAT(problem({"--keep", "leak", "--script", "x.py"}), Contains("unknown; use oom"));
  CHECK_THAT(problem({"--keep", "oom", "--output", "x.pickle"}), Contains("use .trace (text)"));
  CHECK_FALSE(std::filesystem::exists("x.py"));
}

TEST_CASE("reduce: what the run does not show is wrong usage, with what it shows",
          "[cli][reduce]") {
  const CommandRun peak = run({"reduce", kLong, "--keep", "peak>=90GiB", "--script", "-"});
  CHECK(peak.code == ExitCode::usage);
  CHECK_THAT(peak.err, Contains("the peak of reserved memory is 34.49 GiB"));
  const CommandRun oom = run({"reduce", kLong, "--keep", "oom", "--script", "-"});
  CHECK(oom.code == ExitCode::usage);
  CHECK_THAT(oom.err, Contains("no request fails; bound the memory with --capacity"));
}

}  // namespace reduce_command_test
