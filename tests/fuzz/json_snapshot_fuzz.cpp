// Any bytes are read as a snapshot in JSON or refused with an InputError that says where.
//
// The first byte's lowest bit chooses whether stacks are kept; the rest is the file.
#include "tests/fuzz/fuzz_input.hpp"
#include "traces/error.hpp"
#include "traces/formats/json/json_snapshot.hpp"

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace highwater;
  if (size == 0) {
    return 0;
  }
  const bool keeps = (data[0] & 1) != 0;
  const auto source = memory_source(std::as_bytes(std::span(data, size)).subspan(1), "fuzz");
  try {
    read_json_snapshot(*source, {keeps ? StackMode::keep : StackMode::skip});
  } catch (const InputError& error) {
    fuzz::require(!error.where().empty());
  }
  return 0;
}
