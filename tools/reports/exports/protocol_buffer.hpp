// The wire format of protocol buffers, as far as a writer of one known message needs it.
// Source: "Encoding" (protobuf.dev/programming-guides/encoding).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace highwater {

/// The number of a field in its message.
enum class FieldNumber : std::uint32_t {};

/// A message under construction.
class ProtocolMessage {
 public:
  /// A number that is not negative. 0 is the default, which is left out.
  ProtocolMessage& number(FieldNumber field, std::uint64_t value);

  ProtocolMessage& text(FieldNumber field, std::string_view value);

  ProtocolMessage& message(FieldNumber field, const ProtocolMessage& value) {
    return text(field, value.bytes());
  }

  /// A repeated number, packed.
  ProtocolMessage& numbers(FieldNumber field, std::span<const std::uint64_t> values);

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace highwater
