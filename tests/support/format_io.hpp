// Traces to bytes and back, for tests of the file formats.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "traces/error.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/text/text_trace.hpp"

namespace highwater::test {

using ByteString = std::vector<std::byte>;

inline ByteString to_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::string to_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline std::string read_all(ByteSource& source) {
  std::string text;
  std::vector<std::byte> buffer(1000);
  while (const std::size_t n = source.read(buffer)) {
    text += to_text(std::span(buffer).first(n));
  }
  return text;
}

inline RequestTrace parse_text(std::string_view text) {
  const auto source = memory_source(std::as_bytes(std::span(text)), "t.trace");
  return read_text_trace(*source);
}

inline std::string print_text(const RequestTrace& trace) {
  MemorySink sink;
  write_text_trace(trace, sink);
  return to_text(sink.bytes());
}

template <class Content>
ByteString to_binary(const Content& content) {
  MemorySink sink;
  write_binary_trace(content, sink);
  return sink.bytes();
}

inline std::variant<RequestTrace, Recording, ScalableProgram> parse_binary(
    std::span<const std::byte> bytes) {
  const auto source = memory_source(bytes, "t.hwt");
  return read_binary_trace(*source);
}

/// The message of the InputError that `action` throws; empty when it throws none.
template <class Action>
std::string input_error(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// True when `action` succeeds or throws InputError; any other exception escapes.
template <class Action>
bool parses_or_refuses(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what()[0] != '\0';
  }
  return true;
}

}  // namespace highwater::test
