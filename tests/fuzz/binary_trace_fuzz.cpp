// Any content in well-formed chunks is read as a binary trace or refused with an offset; what is
// read can be written, and reading that gives the same bytes again.
//
// The first byte chooses the kind of the file; the rest is the stream inside the
// chunks, so that checksums always fit and the fuzzer gets to what they protect.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <variant>

#include "traces/error.hpp"
#include "traces/formats/binary/binary_stream.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

namespace {

using namespace highwater;

using Content = std::variant<RequestTrace, Recording, ScalableProgram>;

std::vector<std::byte> in_chunks(BinaryKind kind, std::span<const std::uint8_t> content) {
  MemorySink sink;
  BinaryWriter writer(sink, kind);
  for (const std::uint8_t byte : content) {
    writer.put_byte(byte);
  }
  writer.finish();
  return sink.bytes();
}

std::vector<std::byte> written(const Content& content) {
  MemorySink sink;
  std::visit([&](const auto& trace) { write_binary_trace(trace, sink); }, content);
  return sink.bytes();
}

Content read(std::span<const std::byte> bytes) {
  return read_binary_trace(*memory_source(bytes, "fuzz"));
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  constexpr std::array kKinds{BinaryKind::request_trace, BinaryKind::recording,
                              BinaryKind::scalable_program};
  const BinaryKind kind = kKinds.at(data[0] % kKinds.size());
  Content content;
  try {
    content = read(in_chunks(kind, std::span(data, size).subspan(1)));
  } catch (const InputError& error) {
    if (error.where().empty()) {
      std::abort();
    }
    return 0;
  }
  const std::vector<std::byte> once = written(content);
  if (written(read(once)) != once) {
    std::abort();
  }
  return 0;
}
