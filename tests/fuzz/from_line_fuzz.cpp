// Any words after --from are a launch line, a call of a script, a file or a run's name, or are
// refused with an InputError; what the line names is looked for and, but for files of known kinds,
// not opened. Nothing of it is run.
//
// The first line of the input is the launch line; what follows is the content of the script and
// of the configuration files that it can name: train.sh, train.yaml, train.toml, train.json.
#include <filesystem>
#include <fstream>

#include "tests/fuzz/from_plan.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/options/plan_source_file.hpp"

namespace {

using namespace highwater;

/// Of this process, with the working folder in it.
const test::TempDir& folder() {
  static const test::TempDir kFolder;
  return kFolder;
}

void read(const std::string& line) {
  if (names_python_configuration(line)) {
    return;  // read by Python
  }
  for (const PlanSource& source : read_plan_sources(line)) {
    fuzz::check_source(source);
  }
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  const std::size_t end = std::min(text.find('\n'), size);
  const std::string line(text.substr(0, end));
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder().path());
  for (const char* name : {"train.sh", "train.yaml", "train.toml", "train.json"}) {
    test::write_file(name, text.substr(std::min(end + 1, size)));
  }
  try {
    read(line);
  } catch (const InputError&) {
  } catch (const UsageError&) {
  }
  std::filesystem::current_path(before);
  return 0;
}
