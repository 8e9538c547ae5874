// The outer layer of Highwater's binary format: a header, then numbers and strings in chunks.
//
//     magic     89 48 57 54 0d 0a 1a 0a    ("\x89HWT\r\n\x1a\n": shows a transfer as text)
//     version   u16 little endian, kWritten = 1; readers refuse newer ones
//     kind      u8, BinaryKind
//     zero      u8
//     chunk...  u32 length (1 .. kLargestChunk), payload, u32 CRC-32
//     end       u32 0, u32 CRC-32
//
// Each CRC covers everything from the first byte of the file, so damage, loss and reordering of
// chunks are all detected. Chunks may be cut anywhere; together they hold one stream of bytes.
// Numbers in it are LEB128 (seven bits a byte, lowest first), signed ones zigzag; strings are
// preceded by their length. A stream is written and read in one pass, and a reader holds one chunk
// at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <boost/crc.hpp>

#include "traces/formats/bytes/byte_sink.hpp"
#include "traces/formats/bytes/byte_source.hpp"

namespace highwater {

enum class BinaryKind : std::uint8_t { request_trace = 1, recording = 2, scalable_program = 3 };

namespace binary {
constexpr std::array<std::uint8_t, 8> kMagic{0x89, 'H', 'W', 'T', '\r', '\n', 0x1a, '\n'};
constexpr std::uint16_t kWritten = 1;
constexpr std::size_t kHeaderSize = 12;
constexpr std::size_t kLargestChunk = std::size_t{1} << 16;
constexpr std::uint64_t kUnit = 512;  ///< allocators work in multiples of this (kMinBlockSize)
}  // namespace binary

/// 0, -1, 1, -2, ... as 0, 1, 2, 3, ...: numbers near zero stay short.
constexpr std::uint64_t zigzag(std::int64_t number) {
  return (static_cast<std::uint64_t>(number) << 1U) ^ static_cast<std::uint64_t>(number >> 63);
}

constexpr std::int64_t unzigzag(std::uint64_t number) {
  return static_cast<std::int64_t>((number >> 1U) ^ (0 - (number & 1U)));
}

class BinaryWriter {
 public:
  BinaryWriter(ByteSink& sink, BinaryKind kind);

  void put_byte(std::uint8_t byte) {
    if (chunk_.size() == binary::kLargestChunk) {
      flush();
    }
    chunk_.push_back(std::byte{byte});
  }

  void put(std::uint64_t number) {
    while (number >= 0x80) {
      put_byte(static_cast<std::uint8_t>(number | 0x80U));
      number >>= 7U;
    }
    put_byte(static_cast<std::uint8_t>(number));
  }

  void put_signed(std::int64_t number);

  /// A size: short when it is a multiple of kUnit.
  void put_size(std::uint64_t size);

  /// to - from, modulo 2^64: short when near and a multiple of kUnit apart.
  void put_distance(std::uint64_t from, std::uint64_t to);

  void put_double(double number);
  void put_string(std::string_view text);

  /// Writes the rest and the end mark.
  void finish();

 private:
  void flush();
  void write(std::span<const std::byte> bytes);
  void write_u32(std::uint32_t number);

  ByteSink& sink_;
  std::vector<std::byte> chunk_;
  boost::crc_32_type crc_;
};

/// Every function throws InputError with the byte offset if the stream does not hold the requested
/// item.
class BinaryReader {
 public:
  /// Reads and checks the header.
  explicit BinaryReader(ByteSource& source);

  [[nodiscard]] BinaryKind kind() const { return kind_; }

  std::uint8_t byte() {
    if (position_ == chunk_.size()) {
      next_chunk();
    }
    return std::to_integer<std::uint8_t>(chunk_[position_++]);
  }

  std::uint64_t number() {
    const std::uint8_t first = byte();
    return first < 0x80 ? first : long_number(first);
  }

  /// A number below `limit`; `what` names it in the message.
  std::uint64_t number_below(std::uint64_t limit, const char* what);

  std::int64_t signed_number();
  std::uint64_t size();
  std::uint64_t distance_from(std::uint64_t from);
  double real();
  std::string string();

  /// Accounts for what an item keeps in memory that repeats parts of others, and so takes next to
  /// no bytes of the file. Refuses more than any file of its size needs.
  void keep(std::uint64_t bytes);

  /// Requires the end mark here, with nothing after it.
  void finish();

  [[noreturn]] void fail(std::string_view problem) const;

 private:
  void read_header();
  void next_chunk();
  void read_exactly(std::span<std::byte> bytes);
  std::uint32_t read_u32();
  void check_crc();
  std::uint64_t long_number(std::uint8_t first);
  [[noreturn]] void fail_at(std::uint64_t offset, std::string_view problem,
                            std::string_view remedy) const;

  /// Real files need up to 15; an entry, which takes a byte or more, is up to 64 bytes in memory.
  static constexpr std::uint64_t kKeptPerByte = 64;

  ByteSource& source_;
  std::vector<std::byte> chunk_;
  std::uint64_t kept_ = 0;          ///< bytes
  std::size_t position_ = 0;        ///< in chunk_
  std::uint64_t chunk_offset_ = 0;  ///< of chunk_ in the file
  std::uint64_t offset_ = 0;        ///< bytes read from the source
  boost::crc_32_type crc_;
  BinaryKind kind_ = BinaryKind::request_trace;
  bool ended_ = false;
};

}  // namespace highwater
