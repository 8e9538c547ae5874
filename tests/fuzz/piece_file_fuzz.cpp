// Any bytes are a journal or a part, or are refused with an InputError; the results in it are found
// where they stand, and what is read can be written, and reading that gives the same.
//
// The input's first line is the file's. Its rest are records: a byte each for job, number and
// length, then the result; they get their check sums, so that the fuzzer gets to what these
// protect. A record of job 255 is the last one of a part. An input that begins with "!" is the file
// behind it.
#include <boost/json.hpp>

#include "tests/fuzz/fuzz_input.hpp"
#include "tools/fleet/file_stores.hpp"
#include "tools/fleet/piece_file.hpp"
#include "traces/error.hpp"

namespace {

using namespace highwater;

constexpr std::uint8_t kEnd = 255;

std::uint8_t take_byte(std::string_view& text) {
  const auto byte = text.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(text.front());
  text.remove_prefix(std::min<std::size_t>(text.size(), 1));
  return byte;
}

std::string next_record(std::string_view& text, std::uint64_t records) {
  const std::uint8_t job = take_byte(text);
  const std::uint8_t number = take_byte(text);
  const std::uint8_t length = take_byte(text);
  const std::string_view result = text.substr(0, length);
  text.remove_prefix(result.size());
  return job == kEnd ? end_bytes(records) : record_bytes(job, number, result);
}

std::string file_of(std::string_view input) {
  if (input.starts_with('!')) {
    return std::string(input.substr(1));
  }
  const std::size_t end = std::min(input.find('\n'), input.size());
  std::string file = std::string(input.substr(0, end)) + "\n";
  input.remove_prefix(std::min(end + 1, input.size()));
  for (std::uint64_t records = 0; !input.empty(); ++records) {
    file += next_record(input, records);
  }
  return file;
}

/// As a program would write it that has the same results.
std::string written(const PieceFile& read, std::string_view file) {
  std::string again = header_line(read.run);
  for (const PieceRecord& record : read.records) {
    again += record_bytes(record.job, record.number, file.substr(record.offset, record.length));
  }
  return again + (read.is_complete ? end_bytes(read.records.size()) : "");
}

void check_stores(const std::string& path, const PieceFile& read) {
  const auto find_all = [&](const ResultStore& store) {
    for (const PieceRecord& record : read.records) {
      fuzz::require(store.has(record.job, record.number));
      (void)store.find(record.job, record.number);
    }
  };
  find_all(Journal(path, read.run, Resume::yes));
  find_all(PartFiles({path}));
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryBackedFile memory;
  const std::string file = file_of(fuzz::text_of(data, size));
  try {
    const std::string path = memory.holding(file);
    const PieceFile read = read_piece_file(path);
    const std::string once = written(read, file);
    fuzz::require(written(read_piece_file(memory.holding(once)), once) == once);
    check_stores(memory.holding(once), read);
  } catch (const InputError&) {
  } catch (const UsageError&) {
  }
  return 0;
}
