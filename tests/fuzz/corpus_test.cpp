// Every input that once failed a fuzz target, and the first inputs of each, through the function
// that libFuzzer calls: what was mended stays mended, in every build and in seconds.
//
// tests/data/fuzz/TARGET has the inputs that failed, those whose name ends in .xz compressed.
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "traces/formats/bytes/byte_source.hpp"

namespace {

namespace fs = std::filesystem;

using Target = int (*)(const std::uint8_t* data, std::size_t size);

const fs::path kFailedOnce = HIGHWATER_TEST_DATA "/fuzz";
const fs::path kSeeds = HIGHWATER_FUZZ_SEEDS;

std::string input_in(const fs::path& file) {
  return file.extension() == ".xz" ? highwater::read_text_file(file)
                                   : highwater::test::read_file(file);
}

/// How many inputs there were. What fails ends the program, or is thrown.
std::size_t run_all(const fs::path& folder, Target target) {
  std::size_t count = 0;
  for (const fs::directory_entry& file :
       fs::exists(folder) ? fs::directory_iterator(folder) : fs::directory_iterator()) {
    const std::string input = input_in(file);
    INFO(file.path());
    CHECK(target(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()) == 0);
    ++count;
  }
  return count;
}

std::set<std::string>& names_of_targets() {
  static std::set<std::string> names;
  return names;
}

void run_target(const std::string& name, Target target) {
  CHECK(run_all(kFailedOnce / name, target) + run_all(kSeeds / name, target) > 0);
}

}  // namespace

#define FUZZ_TARGET(name)                                                      \
  extern "C" int fuzz_##name(const std::uint8_t* data, std::size_t size);      \
  static const bool name##_is_named = names_of_targets().insert(#name).second; \
  TEST_CASE("fuzz: inputs of " #name, "[fuzz]") {                              \
    CHECK(name##_is_named);                                                    \
    run_target(#name, fuzz_##name);                                            \
  }
#include "fuzz_targets.inc"
#undef FUZZ_TARGET

TEST_CASE("fuzz: what failed once is kept under the name of a target", "[fuzz]") {
  for (const fs::directory_entry& entry : fs::directory_iterator(kFailedOnce)) {
    if (entry.is_directory()) {
      CAPTURE(entry.path());
      CHECK(names_of_targets().contains(entry.path().filename().string()));
    }
  }
}
