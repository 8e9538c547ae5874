#include "tools/reports/exports/protocol_buffer.hpp"

namespace highwater {
namespace {

enum class WireType : std::uint32_t { varint = 0, length_delimited = 2 };

/// Seven bits a byte, the lowest first; all but the last byte have the highest bit.
void put_varint(std::string& bytes, std::uint64_t value) {
  constexpr unsigned kBits = 7;
  constexpr std::uint64_t kMore = 1U << kBits;
  for (; value >= kMore; value >>= kBits) {
    bytes += static_cast<char>(value % kMore + kMore);
  }
  bytes += static_cast<char>(value);
}

void put_tag(std::string& bytes, FieldNumber field, WireType type) {
  constexpr unsigned kTypeBits = 3;
  put_varint(bytes,
             static_cast<std::uint64_t>(field) << kTypeBits | static_cast<std::uint64_t>(type));
}

}  // namespace

ProtocolMessage& ProtocolMessage::number(FieldNumber field, std::uint64_t value) {
  if (value != 0) {
    put_tag(bytes_, field, WireType::varint);
    put_varint(bytes_, value);
  }
  return *this;
}

ProtocolMessage& ProtocolMessage::text(FieldNumber field, std::string_view value) {
  put_tag(bytes_, field, WireType::length_delimited);
  put_varint(bytes_, value.size());
  bytes_ += value;
  return *this;
}

ProtocolMessage& ProtocolMessage::numbers(FieldNumber field,
                                          std::span<const std::uint64_t> values) {
  std::string packed;
  for (const std::uint64_t value : values) {
    put_varint(packed, value);
  }
  return text(field, packed);
}

}  // namespace highwater
