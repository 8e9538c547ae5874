// The rules that every trace format keeps, as one suite over the formats.
#include <random>

#include <catch2/catch.hpp>

#include "tests/support/format_io.hpp"
#include "tests/support/random_traces.hpp"
#include "tests/support/trace_equality.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

struct TextFormat {
  static ByteString write(const RequestTrace& trace) { return to_bytes(print_text(trace)); }

  static RequestTrace read(const ByteString& bytes) { return parse_text(to_text(bytes)); }

  static bool looks_like(const ByteString& head) { return looks_like_text_trace(head); }

  static ByteString of_unknown_version() { return to_bytes("conf \nversion 2\n"); }

  static ByteString with_oversized_number() {
    return to_bytes("conf \na 0 18446744073709551616 0\n");
  }
};

struct BinaryFormat {
  static ByteString write(const RequestTrace& trace) { return to_binary(trace); }

  static RequestTrace read(const ByteString& bytes) {
    return std::get<RequestTrace>(parse_binary(bytes));
  }

  static bool looks_like(const ByteString& head) { return looks_like_binary_trace(head); }

  static ByteString of_unknown_version() {
    ByteString bytes = to_binary(RequestTrace{});
    bytes[9] = std::byte{1};
    return bytes;
  }

  static ByteString with_oversized_number() {
    ByteString bytes = to_binary(RequestTrace{});
    bytes[15] = std::byte{0xff};
    return bytes;
  }
};

/// A trace as the format itself numbers things, so that equality is exact.
template <class Format>
RequestTrace sample(std::uint32_t seed) {
  return Format::read(Format::write(random_requests(seed)));
}

}  // namespace

TEMPLATE_TEST_CASE("formats: writing and reading gives an equal trace", "[traces][formats]",
                   TextFormat, BinaryFormat) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const RequestTrace trace = sample<TestType>(seed);
    CAPTURE(seed);
    CHECK(same(trace, TestType::read(TestType::write(trace))));
  }
}

TEMPLATE_TEST_CASE("formats: writing is deterministic", "[traces][formats]", TextFormat,
                   BinaryFormat) {
  CHECK(TestType::write(random_requests(3)) == TestType::write(random_requests(3)));
}

TEMPLATE_TEST_CASE("formats: a file is recognised as its own format only", "[traces][formats]",
                   TextFormat, BinaryFormat) {
  const RequestTrace trace = random_requests(3);
  CHECK(TestType::looks_like(TestType::write(trace)));
  CHECK(looks_like_text_trace(TestType::write(trace)) !=
        looks_like_binary_trace(TestType::write(trace)));
}

TEMPLATE_TEST_CASE("formats: what a later version may add is refused", "[traces][formats]",
                   TextFormat, BinaryFormat) {
  CHECK(input_error([] { TestType::read(TestType::of_unknown_version()); }) != "");
}

TEMPLATE_TEST_CASE("formats: numbers beyond the format are refused", "[traces][formats]",
                   TextFormat, BinaryFormat) {
  CHECK(input_error([] { TestType::read(TestType::with_oversized_number()); }) != "");
}

TEMPLATE_TEST_CASE("formats: every prefix parses or is refused", "[traces][formats]", TextFormat,
                   BinaryFormat) {
  const ByteString whole = TestType::write(random_requests(11));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const ByteString prefix(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    REQUIRE(parses_or_refuses([&] { TestType::read(prefix); }));
  }
}

TEMPLATE_TEST_CASE("formats: mutated files parse or are refused", "[traces][formats]", TextFormat,
                   BinaryFormat) {
  std::mt19937 random(3);
  for (std::uint32_t i = 0; i < 2000; ++i) {
    ByteString bytes = TestType::write(random_requests(i % 50));
    for (auto left = 1 + random() % 4; left > 0; --left) {
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    }
    CAPTURE(i);
    REQUIRE(parses_or_refuses([&] { TestType::read(bytes); }));
  }
}
