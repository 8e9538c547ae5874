// Results in a part, whatever their bytes, print a report or are refused: `merge` ends with 0, 1, 2
// or 3, and with one line about what is wrong.
//
// The first byte chooses the command that the part is of, among those that cut their work into
// pieces; the rest are results, one after the other: a byte each for job and number, two for the
// length, then the bytes. The part's check sums are right.
#include <array>
#include <sstream>

#include "tests/fuzz/fuzz_input.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/fleet/piece_file.hpp"
#include "tools/fleet/run_identity.hpp"
#include "tools/program/program.hpp"

namespace {

using namespace highwater;

/// Small inputs that the commands name.
std::string folder() {
  static const test::TempDir kFolder;
  static const bool kIsWritten = [] {
    test::write_file(kFolder / "rank0.trace", "a 1 1048576 0\nf 1\n");
    test::write_file(kFolder / "grid", R"({"grid": {"model": "gpt2", "batch": [1, 2]}})");
    return true;
  }();
  fuzz::require(kIsWritten);
  return kFolder.path().string();
}

std::vector<Arguments> command_lines() {
  const std::string file = folder() + "/rank0.trace";
  return {{"scan", folder()},
          {"scan", folder(), "--format", "json"},
          {"sweep", file, "--set", "expandable_segments=False,True"},
          {"sweep", file, "--set", "expandable_segments=False,True", "--format", "json"},
          {"validate", folder() + "/grid", "--format", "json"}};
}

std::size_t take_number(std::string_view& text, std::size_t bytes) {
  std::size_t number = 0;
  for (; bytes > 0 && !text.empty(); --bytes, text.remove_prefix(1)) {
    number = number << 8U | static_cast<std::uint8_t>(text.front());
  }
  return number;
}

std::string part_of(const Arguments& arguments, std::string_view results) {
  std::string file =
      header_line({.version = HIGHWATER_VERSION,
                   .arguments = arguments,
                   .inputs = check_of_inputs({arguments.begin() + 1, arguments.end()}),
                   .shard = Shard{}});
  std::uint64_t records = 0;
  for (; !results.empty(); ++records) {
    const auto job = static_cast<std::uint32_t>(take_number(results, 1));
    const PieceNumber number = take_number(results, 1);
    const std::size_t length = take_number(results, 2);
    const std::string_view result = results.substr(0, length);
    results.remove_prefix(result.size());
    file += record_bytes(job, number, result);
  }
  return file + end_bytes(records);
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryBackedFile part;
  static const std::vector<Arguments> kCommandLines = command_lines();
  if (size == 0) {
    return 0;
  }
  const Arguments& arguments = kCommandLines[data[0] % kCommandLines.size()];
  std::ostringstream out;
  std::ostringstream err;
  const ExitCode code = run_program(
      {"merge", part.holding(part_of(arguments, fuzz::text_of(data, size).substr(1)))}, out, err);
  fuzz::require(code != ExitCode::internal);
  fuzz::require(code == ExitCode::ok || !err.str().empty());
  return 0;
}
