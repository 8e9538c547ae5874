// simulate --from a recording whose model no plan describes (tests/data/plans without its model).
#include <string>
#include <variant>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/files/input.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

using namespace highwater;
using namespace highwater::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string sentence_of(const boost::json::object& answer) {
  return boost::json::value_to<std::string>(answer.at("recorded").at("verdict"));
}

/// A recording whose model has no configuration: script.hwt.xz without the one that it tells.
std::string without_config(const TempDir& folder) {
  TraceFile file = read_trace_file(HIGHWATER_TEST_DATA "/plans/script.hwt.xz", StackMode::keep);
  auto& recording = std::get<Recording>(file);
  boost::json::value plan = boost::json::parse(recording.plan);
  plan.at("model").as_object().erase("config");
  recording.plan = boost::json::serialize(plan);
  std::string path = folder / "own.hwt";
  write_binary_trace(recording, *open_sink(path));
  return path;
}

}  // namespace

TEST_CASE("from: a recording without a model answers for the program that ran", "[cli][from]") {
  const TempDir folder;
  const std::string file = without_config(folder);
  const auto recorded = json_of("replay " + file).at("devices").at(0).as_object();
  const auto answer = json_of("simulate --from " + file);
  CHECK(answer.at("schema") == "highwater.replay/1");
  CHECK(answer.at("devices").at(0).at("peak") == recorded.at("peak"));
  const auto& told = answer.at("recorded").as_object();
  CHECK(told.at("fits") == true);
  CHECK_THAT(sentence_of(answer), StartsWith("FITS in "));
  const std::string table = run_line("simulate --from " + file).out;
  CHECK_THAT(table, Contains("has no configuration of transformers") &&
                        Contains("hold for it alone") && Contains("highwater fit " + file));
  CHECK_THAT(sentence_of(json_of("simulate --gpu rtx4090 --from " + file)),
             StartsWith("FITS in rtx4090"));
}

TEST_CASE("from: a recording without a model, in less memory and under other settings",
          "[cli][from]") {
  const TempDir folder;
  const std::string line = "simulate --from " + without_config(folder);
  CHECK_THAT(run_line(line + " --capacity 8MiB").out, StartsWith("DOES NOT FIT in a capacity of"));
  CHECK(run_line(line + " --capacity 8MiB --fail-on-oom").code == ExitCode::exceeded);
  CHECK(run_line(line + " --max-reserved 1MiB").code == ExitCode::exceeded);
  const auto expandable =
      json_of(line + " --alloc-conf expandable_segments:True").at("devices").at(0).as_object();
  CHECK(expandable.at("settings") == "expandable_segments:True");
}

TEST_CASE("from: a recording without a model has no answer for another program", "[cli][from]") {
  const TempDir folder;
  const std::string line = "simulate --gpu h100-80 --from " + without_config(folder);
  for (const std::string option : {"batch 64", "seq 7", "find-batch", "estimates"}) {
    const CommandRun done = run_line(line + " --" + option);
    CAPTURE(option);
    CHECK(done.code == ExitCode::usage);
    CHECK_THAT(done.err, Contains("not --" + option.substr(0, option.find(' '))) &&
                             Contains("highwater fit"));
  }
}

TEST_CASE("from: of a recording without a model, other commands want the file", "[cli][from]") {
  const TempDir folder;
  const std::string file = without_config(folder);
  CHECK_THAT(run_line("sweep --set expandable_segments=False --from " + file).err,
             Contains("name the recording as FILE"));
  CHECK(run_line("sweep --set expandable_segments=False " + file).code == ExitCode::ok);
}
