// Any bytes behind the magic number of gzip, xz or zstd decompress or are refused, within the
// memory that a stream may take and the length that its limit allows.
//
// The first byte chooses the compression; the rest is the stream.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/bytes/compression.hpp"

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace highwater;
  constexpr std::array kKinds{Compression::gzip, Compression::xz, Compression::zstd};
  if (size == 0) {
    return 0;
  }
  const auto bytes = std::as_bytes(std::span(data, size)).subspan(1);
  constexpr ExpansionLimit kLimit{.times = 10, .always = std::uint64_t{1} << 20U};
  std::array<std::byte, 65536> buffer{};
  const std::uint64_t most = kLimit.always + *kLimit.times * size + buffer.size();
  std::uint64_t became = 0;
  try {
    const auto source = decompressed(memory_source(bytes, "fuzz"), kKinds.at(data[0] % 3), kLimit);
    while (const std::size_t n = source->read(buffer)) {
      became += n;
      if (became > most) {
        std::abort();
      }
    }
  } catch (const InputError&) {  // a damaged stream has no position of its own
  }
  return 0;
}
