// Command line: `convert` loses nothing that the target can hold, and never leaves half a file.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;

namespace convert_command_test {
namespace fs = std::filesystem;

namespace {

const std::string kRecording =
    HIGHWATER_SOURCE "/traces/recorded/fake/gpt2-fp32-varlen-capacity2700.hwt.xz";
const std::string kTrace = HIGHWATER_SOURCE "/tests/data/conformance/h14_record_stream.trace";

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string replayed(const std::string& file, const Arguments& more = {}) {
  Arguments arguments{"replay", file, "--format", "csv"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run(arguments).out;
}

}  // namespace

TEST_CASE("convert: text to binary and back replays alike, in every compression",
          "[cli][convert]") {
  const test::TempDir folder;
  const std::string ending = GENERATE(as<std::string>{}, "", ".gz", ".xz", ".zst");
  const std::string binary = (folder.path() / ("t.hwt" + ending)).string();
  const std::string text = (folder.path() / ("t.trace" + ending)).string();
  REQUIRE(run({"convert", kTrace, binary}).code == ExitCode::ok);
  REQUIRE(run({"convert", binary, text}).code == ExitCode::ok);
  CHECK(replayed(binary) == replayed(kTrace));
  CHECK(replayed(text) == replayed(kTrace));
}

TEST_CASE("convert: a recording keeps its decisions in binary", "[cli][convert]") {
  const test::TempDir folder;
  const std::string copy = (folder.path() / "r.hwt").string();
  REQUIRE(run({"convert", kRecording, copy}).code == ExitCode::ok);
  CHECK(replayed(copy) == replayed(kRecording));
}

TEST_CASE("convert: a recording as text asks for the same", "[cli][convert]") {
  const test::TempDir folder;
  const std::string text = (folder.path() / "r.trace").string();
  REQUIRE(run({"convert", kRecording, text}).code == ExitCode::ok);
  const Arguments settings{"--alloc-conf", "expandable_segments:True", "--capacity", "2700MiB"};
  const std::string from_text = replayed(text, settings);
  const std::string from_recording = replayed(kRecording, settings);
  CHECK(from_text.substr(0, from_text.find("settings")) ==
        from_recording.substr(0, from_recording.find("settings")));
}

TEST_CASE("convert: a source that cannot be read leaves no file and touches none",
          "[cli][convert]") {
  const test::TempDir folder;
  const fs::path broken = folder.path() / "broken.trace";
  const fs::path target = folder.path() / "t.hwt";
  std::ofstream(broken) << "conf \na 1 512 0\nf 2\n";
  CHECK(run({"convert", broken.string(), target.string()}).code == ExitCode::bad_input);
  CHECK_FALSE(fs::exists(target));
  std::ofstream(target) << "precious";
  CHECK(run({"convert", broken.string(), target.string()}).code == ExitCode::bad_input);
  CHECK(content(target) == "precious");
  CHECK(folder.file_count() == 2);
}

}  // namespace convert_command_test
