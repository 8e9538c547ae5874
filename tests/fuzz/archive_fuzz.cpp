// Any bytes are an archive of snapshots or refused with an InputError; its members are listed and
// read, each a trace or refused by name, within the length that the limit of expansion allows.
//
// The first byte chooses the ending of the file's name.
#include <array>
#include <filesystem>

#include "tests/fuzz/fuzz_input.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/studies/scan/scan_items.hpp"
#include "traces/error.hpp"

namespace {

using namespace highwater;

constexpr ExpansionLimit kLimit{.times = 20, .always = std::uint64_t{1} << 20U};

std::string archive(std::string_view bytes, std::uint8_t kind) {
  static const test::TempDir kFolder;
  constexpr std::array kNames{"a.tar", "a.zip", "a.tar.gz", "a.tar.xz", "a.tar.zst"};
  const auto path = kFolder / kNames.at(kind % kNames.size());
  test::write_file(path, bytes);
  return path.string();
}

void read(OpenArchives& archives, const ScanItem& item) {
  try {
    archives.read(item, {.expansion = kLimit, .progress = ReadingProgress::hidden});
  } catch (const InputError&) {
  }
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string path = archive(fuzz::text_of(data, size).substr(1), data[0]);
  try {
    OpenArchives archives(kLimit);
    for (const ScanItem& item : find_traces(path, kLimit)) {
      if (item.error.empty()) {
        read(archives, item);
      }
    }
  } catch (const InputError&) {
  }
  return 0;
}
