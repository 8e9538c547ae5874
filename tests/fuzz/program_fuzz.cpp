// Any content of a program of `fit` (.hwp) gives requests at the values of its integers, or is
// refused: the file with an InputError, the values with a UsageError. What it gives is replayed.
//
// The first byte is the value of every integer; the rest is the stream inside the chunks, so that
// checksums always fit.
#include "allocator/settings/version.hpp"
#include "sim/replay/replay.hpp"
#include "sim/scaling/scaled_requests.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "traces/error.hpp"
#include "traces/formats/binary/binary_stream.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

namespace {

using namespace highwater;

ScalableProgram program_of(std::string_view stream) {
  MemorySink sink;
  BinaryWriter writer(sink, BinaryKind::scalable_program);
  for (const char byte : stream) {
    writer.put_byte(static_cast<std::uint8_t>(byte));
  }
  writer.finish();
  return std::get<ScalableProgram>(read_binary_trace(*memory_source(sink.bytes(), "fuzz")));
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) {
    return 0;
  }
  try {
    const ScalableProgram program = program_of(fuzz::text_of(data, size).substr(1));
    const Values values(program.integers.size(), std::uint64_t{data[0]} + 1);
    for (const auto sizes :
         {EstimatedSizes::likely, EstimatedSizes::smallest, EstimatedSizes::largest}) {
      replay(requests_at(program, values, sizes).trace, {.version = &version_presets().back()});
    }
  } catch (const InputError&) {
  } catch (const UsageError&) {
  }
  return 0;
}
