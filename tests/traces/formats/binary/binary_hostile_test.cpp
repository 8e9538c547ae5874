// Rules: damage shows, with the byte where it was noticed, and nothing in a file does harm.
#include <random>

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"
#include "tests/support/random_traces.hpp"
#include "traces/formats/binary/binary_stream.hpp"

using namespace highwater;
using namespace highwater::test;
using Catch::Matchers::Contains;

namespace {

std::string error_of(const ByteString& bytes) {
  return input_error([&] { parse_binary(bytes); });
}

/// What the chunks of a small file hold: it has one chunk.
ByteString payload_of(const ByteString& file) {
  REQUIRE(file.size() < binary::kLargestChunk);
  return {file.begin() + binary::kHeaderSize + 4, file.end() - 12};
}

/// A file with these contents and correct checksums, so that the decoder behind them is reached.
ByteString with_payload(std::span<const std::byte> payload, BinaryKind kind) {
  MemorySink sink;
  BinaryWriter out(sink, kind);
  for (const std::byte byte : payload) {
    out.put_byte(std::to_integer<std::uint8_t>(byte));
  }
  out.finish();
  return sink.bytes();
}

ByteString with_numbers(const std::vector<std::uint64_t>& numbers, BinaryKind kind) {
  MemorySink sink;
  BinaryWriter out(sink, kind);
  for (const std::uint64_t number : numbers) {
    out.put(number);
  }
  out.finish();
  return sink.bytes();
}

void mutate(ByteString& bytes, std::mt19937& random) {
  for (auto left = 1 + random() % 3; left > 0 && !bytes.empty(); --left) {
    const auto at = bytes.begin() + static_cast<std::ptrdiff_t>(random() % bytes.size());
    switch (random() % 3) {
      case 0:
        *at = static_cast<std::byte>(random());
        break;
      case 1:
        bytes.erase(at);
        break;
      default:
        bytes.insert(at, random() % 2 == 0 ? std::byte{0xff} : static_cast<std::byte>(random()));
    }
  }
}

ByteString sample(BinaryKind kind, std::uint32_t seed) {
  return kind == BinaryKind::scalable_program ? to_binary(random_program(seed))
         : kind == BinaryKind::recording      ? to_binary(random_recording(seed))
                                              : to_binary(random_requests(seed));
}

/// Strings of 512 characters that share all but the last of the one before.
RequestTrace sharing_strings() {
  RequestTrace trace;
  const std::string text(506, 'x');
  for (std::uint32_t i = 100000; i < 400000; ++i) {
    trace.tables.strings.intern(text + std::to_string(i));
  }
  return trace;
}

/// Stacks of 400 frames that differ in the innermost one.
RequestTrace sharing_stacks() {
  RequestTrace trace;
  trace.tables.strings.intern("f");
  std::vector<FrameId> frames;
  for (std::int64_t line = 0; line < 400; ++line) {
    frames.push_back(trace.tables.stacks.intern_frame({StringId{0U}, StringId{0U}, line}));
  }
  std::ranges::reverse(frames);
  for (std::int64_t line = 400; line < 100000; ++line) {
    frames.front() = trace.tables.stacks.intern_frame({StringId{0U}, StringId{0U}, line});
    trace.tables.stacks.intern_stack(frames);
  }
  return trace;
}

}  // namespace

TEST_CASE("binary_trace: a newer version is refused with the way out", "[traces][binary]") {
  ByteString bytes = to_binary(RequestTrace{});
  bytes[8] = std::byte{7};
  CHECK(error_of(bytes) ==
        "t.hwt: byte 8: format version 7 is newer than this program supports (1); update "
        "Highwater, or convert the file to text with the version that wrote it");
}

TEST_CASE("binary_trace: another file is refused at the first wrong byte", "[traces][binary]") {
  CHECK(error_of(to_bytes("\x89HWX and more of it")) ==
        "t.hwt: byte 3: not a Highwater binary trace; check the file name");
}

TEST_CASE("binary_trace: no flipped byte goes unnoticed", "[traces][binary]") {
  const ByteString good = to_binary(random_recording(4));
  for (std::size_t i = 0; i < good.size(); ++i) {
    ByteString bad = good;
    bad[i] ^= std::byte{0x10};
    CAPTURE(i);
    REQUIRE_THAT(error_of(bad), Contains("t.hwt: byte "));
  }
}

TEST_CASE("binary_trace: a truncated file is refused where it stops", "[traces][binary]") {
  const ByteString good = to_binary(random_recording(4));
  for (std::size_t size = 0; size < good.size(); ++size) {
    CAPTURE(size);
    REQUIRE(error_of({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)}) ==
            "t.hwt: byte " + std::to_string(size) +
                ": the file ends before its end mark; it is truncated: copy it again");
  }
}

TEST_CASE("binary_trace: bytes behind the end are refused", "[traces][binary]") {
  ByteString bytes = to_binary(RequestTrace{});
  const std::size_t size = bytes.size();
  bytes.push_back(std::byte{0});
  CHECK_THAT(error_of(bytes),
             Contains("byte " + std::to_string(size) + ": unexpected bytes after the end mark"));
}

TEST_CASE("binary_trace: lying lengths are refused without the memory they ask for",
          "[traces][binary]") {
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60U;
  const auto kind =
      GENERATE(BinaryKind::recording, BinaryKind::request_trace, BinaryKind::scalable_program);
  const auto numbers = GENERATE(values<std::vector<std::uint64_t>>(
      {{kHuge}, {0, kHuge}, {1, 0, kHuge}, {0, 0, kHuge}, {0, 0, 0, kHuge}, {0, 0, 0, 0, kHuge}}));
  CHECK_THAT(error_of(with_numbers(numbers, kind)), Contains("t.hwt: byte "));
}

TEST_CASE("binary_trace: strings and stacks that only repeat each other are refused",
          "[traces][binary]") {
  const auto trace = GENERATE(as<RequestTrace (*)()>{}, sharing_strings, sharing_stacks);
  CHECK_THAT(error_of(to_binary(trace())), Contains("repeat each other more often"));
}

TEST_CASE("binary_trace: a long name of many annotations is refused", "[traces][binary]") {
  Recording recording;
  recording.annotations.assign(2000, {.name = std::string(100000, 'n')});
  CHECK_THAT(error_of(to_binary(recording)), Contains("repeat each other more often"));
}

TEST_CASE("binary_trace: a chunk longer than any is refused before it is read",
          "[traces][binary]") {
  ByteString bytes = to_binary(RequestTrace{});
  bytes[binary::kHeaderSize + 3] = std::byte{0x7f};
  CHECK_THAT(error_of(bytes), Contains("byte 12: a chunk of ") && Contains("exceeds the limit"));
}

TEST_CASE("binary_trace: a program whose requests name no formula is refused", "[traces][binary]") {
  ScalableProgram program = random_program(3);
  program.formulas.clear();
  CHECK_THAT(error_of(to_binary(program)), Contains("formula that the program does not have"));
}

TEST_CASE("binary_trace: a coefficient over zero is refused", "[traces][binary]") {
  ScalableProgram program = random_program(3);
  program.formulas.front().terms = {{Exponents(program.integers.size()), 1, 0}};
  CHECK_THAT(error_of(to_binary(program)), Contains("denominator"));
}

TEST_CASE("binary_trace: every prefix of the contents parses or is refused", "[traces][binary]") {
  const auto kind =
      GENERATE(BinaryKind::recording, BinaryKind::request_trace, BinaryKind::scalable_program);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const ByteString payload = payload_of(sample(kind, seed));
    for (std::size_t size = 0; size < payload.size(); ++size) {
      CAPTURE(seed, size);
      REQUIRE(error_of(with_payload(std::span(payload).first(size), kind)) != "");
    }
  }
}

TEST_CASE("binary_trace: mutated contents with good checksums parse or are refused",
          "[traces][binary]") {
  const auto kind =
      GENERATE(BinaryKind::recording, BinaryKind::request_trace, BinaryKind::scalable_program);
  std::mt19937 random(7);
  for (std::uint32_t i = 0; i < 4000; ++i) {
    ByteString payload = payload_of(sample(kind, i % 100));
    mutate(payload, random);
    const ByteString bytes = with_payload(payload, kind);
    CAPTURE(i);
    REQUIRE(parses_or_refuses([&] { parse_binary(bytes); }));
  }
}
