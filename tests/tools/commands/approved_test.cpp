// Command line: what users see, compared with approved files in tests/cli/approved.
// HIGHWATER_APPROVE=1 rewrites them; review the difference before committing it.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;

namespace {

const std::string kVectors = "tests/data/conformance/";

void check_approved(const std::string& name, const Arguments& arguments) {
  std::filesystem::current_path(HIGHWATER_SOURCE);  // so that messages hold no machine's path
  const CommandRun result = run(arguments);
  const std::string actual =
      result.out + result.err + "exit " + std::to_string(static_cast<int>(result.code)) + "\n";
  const std::string path = HIGHWATER_APPROVED "/" + name + ".txt";
  if (std::getenv("HIGHWATER_APPROVE") != nullptr) {
    std::ofstream(path) << actual;
  }
  std::ifstream file(path);
  std::ostringstream expected;
  expected << file.rdbuf();
  CHECK(actual == expected.str());
}

}  // namespace

TEST_CASE("cli: replay of a text trace in every format", "[cli][golden]") {
  const std::string trace = kVectors + "h07_oom_retry.trace";
  check_approved("replay_table", {"replay", trace});
  check_approved("replay_json", {"replay", trace, "--format", "json"});
  check_approved("replay_csv", {"replay", trace, "--format", "csv"});
  check_approved("replay_markdown", {"replay", trace, "--format", "markdown"});
  check_approved("replay_decisions", {"replay", trace, "--decisions"});
}

TEST_CASE("cli: replay of a recording tells its fidelity", "[cli][golden]") {
  const std::string recording = "traces/recorded/fake/gpt2-fp32-varlen-capacity2700.hwt.xz";
  check_approved("replay_recording", {"replay", recording});
  check_approved("replay_recording_json", {"replay", recording, "--format", "json"});
  check_approved("replay_recording_expandable", {"replay", recording, "--capacity", "2700MiB",
                                                 "--alloc-conf", "expandable_segments:True"});
}

TEST_CASE("cli: info of a recording and of a request trace", "[cli][golden]") {
  check_approved("info_recording",
                 {"info", "traces/recorded/fake/gpt2-fp32-varlen-capacity2700.hwt.xz"});
  check_approved("info_requests", {"info", kVectors + "h14_record_stream.trace"});
}

TEST_CASE("cli: help names every command and option", "[cli][golden]") {
  check_approved("help", {"--help"});
  check_approved("help_replay", {"replay", "--help"});
}
