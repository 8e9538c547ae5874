// libFuzzer target: any bytes are read as a snapshot or refused with an InputError.
//
// The first byte's lowest bit chooses whether stacks are kept; the rest is the file. Seeds: the
// files that write_pickle makes, or small real snapshots, each behind one byte.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "traces/error.hpp"
#include "traces/formats/snapshot/torch_snapshot.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace highwater;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (bytes.empty()) {
    return 0;
  }
  const bool keeps = (data[0] & 1) != 0;
  const auto source = memory_source(bytes.subspan(1), "fuzz");
  try {
    read_torch_snapshot(*source, {keeps ? StackMode::keep : StackMode::skip});
  } catch (const InputError& error) {
    if (error.where().empty()) {
      std::abort();
    }
  }
  return 0;
}
