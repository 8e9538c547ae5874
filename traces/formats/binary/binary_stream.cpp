#include "traces/formats/binary/binary_stream.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/formats/bytes/memory_bound.hpp"
#include "traces/formats/bytes/peeked_source.hpp"

namespace highwater {
namespace {

using namespace binary;

constexpr std::string_view kDamaged = "the file is damaged: copy it again, or recreate it";

std::array<std::byte, 4> little_endian(std::uint32_t number) {
  std::array<std::byte, 4> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes.at(i) = static_cast<std::byte>(number >> (8 * i));
  }
  return bytes;
}

}  // namespace

BinaryWriter::BinaryWriter(ByteSink& sink, BinaryKind kind) : sink_(sink) {
  chunk_.reserve(kLargestChunk);
  std::array<std::byte, kHeaderSize> header{};
  std::ranges::transform(kMagic, header.begin(), [](std::uint8_t b) { return std::byte{b}; });
  header[8] = std::byte{kWritten & 0xffU};
  header[9] = std::byte{kWritten >> 8U};
  header[10] = static_cast<std::byte>(kind);
  write(header);
}

void BinaryWriter::put_signed(std::int64_t number) {
  put(zigzag(number));
}

// Even: a multiple of kUnit. 1: not a multiple; the plain number follows.
void BinaryWriter::put_size(std::uint64_t size) {
  if (size % kUnit == 0) {
    put(size / kUnit << 1U);
  } else {
    put(1);
    put(size);
  }
}

void BinaryWriter::put_distance(std::uint64_t from, std::uint64_t to) {
  const auto distance = static_cast<std::int64_t>(to - from);
  constexpr auto kSignedUnit = static_cast<std::int64_t>(kUnit);
  if (distance % kSignedUnit == 0) {
    put(zigzag(distance / kSignedUnit) << 1U);
  } else {
    put(1);
    put_signed(distance);
  }
}

void BinaryWriter::put_double(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  for (unsigned shift = 0; shift < 64; shift += 8) {
    put_byte(static_cast<std::uint8_t>(bits >> shift));
  }
}

void BinaryWriter::put_string(std::string_view text) {
  put(text.size());
  for (const char c : text) {
    put_byte(static_cast<std::uint8_t>(c));
  }
}

void BinaryWriter::finish() {
  flush();
  write_u32(0);
  write_u32(crc_.checksum());
}

void BinaryWriter::flush() {
  if (chunk_.empty()) {
    return;
  }
  write_u32(static_cast<std::uint32_t>(chunk_.size()));
  write(chunk_);
  write_u32(crc_.checksum());
  chunk_.clear();
}

void BinaryWriter::write(std::span<const std::byte> bytes) {
  crc_.process_bytes(bytes.data(), bytes.size());
  sink_.write(bytes);
}

void BinaryWriter::write_u32(std::uint32_t number) {
  write(little_endian(number));
}

BinaryReader::BinaryReader(ByteSource& source) : source_(source) {
  read_header();
}

void BinaryReader::read_header() {
  std::array<std::byte, kHeaderSize> header{};
  read_exactly(header);
  const auto at = [&](std::size_t i) { return std::to_integer<unsigned>(header.at(i)); };
  for (std::size_t i = 0; i < kMagic.size(); ++i) {
    if (at(i) != kMagic.at(i)) {
      fail_at(i, "not a Highwater binary trace", "check the file name");
    }
  }
  const unsigned version = at(8) | at(9) << 8U;
  if (version > kWritten) {
    fail_at(8,
            fmt::format("format version {} is newer than this program supports ({})", version,
                        kWritten),
            "update Highwater, or convert the file to text with the version that wrote it");
  }
  kind_ = static_cast<BinaryKind>(at(10));
  const bool is_known_kind =
      kind_ >= BinaryKind::request_trace && kind_ <= BinaryKind::scalable_program;
  if (version == 0 || !is_known_kind || at(11) != 0) {
    fail_at(8, "the header is invalid", kDamaged);
  }
}

void BinaryReader::next_chunk() {
  if (ended_) {
    fail("the data ends in the middle of an item");
  }
  const std::uint64_t start = offset_;
  const std::uint32_t length = read_u32();
  if (length > kLargestChunk) {
    fail_at(start,
            fmt::format("a chunk of {} bytes exceeds the limit of {}", length, kLargestChunk),
            kDamaged);
  }
  chunk_offset_ = offset_;
  position_ = 0;
  chunk_.resize(length);
  read_exactly(chunk_);
  check_crc();
  ended_ = length == 0;
  if (ended_) {
    fail("the data ends in the middle of an item");
  }
}

void BinaryReader::finish() {
  if (position_ != chunk_.size()) {
    fail("unexpected data after the last item");
  }
  const std::uint64_t start = offset_;
  if (read_u32() != 0) {
    fail_at(start, "unexpected chunk after the last item", kDamaged);
  }
  check_crc();
  std::array<std::byte, 1> more{};
  if (source_.read(more) != 0) {
    fail_at(offset_, "unexpected bytes after the end mark", kDamaged);
  }
}

void BinaryReader::read_exactly(std::span<std::byte> bytes) {
  const std::size_t got = read_fully(source_, bytes);
  offset_ += got;
  if (got != bytes.size()) {
    fail_at(offset_, "the file ends before its end mark", "it is truncated: copy it again");
  }
  crc_.process_bytes(bytes.data(), bytes.size());
}

std::uint32_t BinaryReader::read_u32() {
  std::array<std::byte, 4> bytes{};
  read_exactly(bytes);
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    number |= std::to_integer<std::uint32_t>(bytes.at(i)) << (8 * i);
  }
  return number;
}

void BinaryReader::check_crc() {
  const std::uint64_t start = offset_;
  const std::uint32_t expected = crc_.checksum();
  if (read_u32() != expected) {
    fail_at(start, "the checksum does not match the data before it", kDamaged);
  }
}

std::uint64_t BinaryReader::long_number(std::uint8_t first) {
  std::uint64_t value = first & 0x7fU;
  for (unsigned shift = 7; shift < 64; shift += 7) {
    const std::uint8_t next = byte();
    value |= static_cast<std::uint64_t>(next & 0x7fU) << shift;
    if (next < 0x80) {
      if (shift == 63 && next > 1) {
        break;
      }
      return value;
    }
  }
  fail("a number does not fit in 64 bits");
}

std::uint64_t BinaryReader::number_below(std::uint64_t limit, const char* what) {
  const std::uint64_t value = number();
  if (value >= limit) {
    fail(fmt::format("{} {} does not exist (there are only {})", what, value, limit));
  }
  return value;
}

std::int64_t BinaryReader::signed_number() {
  return unzigzag(number());
}

std::uint64_t BinaryReader::size() {
  const std::uint64_t code = number();
  if (code == 1) {
    return number();
  }
  if (code % 2 == 1) {
    fail("unknown encoding of a size");
  }
  return (code >> 1U) * kUnit;
}

std::uint64_t BinaryReader::distance_from(std::uint64_t from) {
  const std::uint64_t code = number();
  if (code == 1) {
    return from + static_cast<std::uint64_t>(signed_number());
  }
  if (code % 2 == 1) {
    fail("unknown encoding of a distance");
  }
  return from + static_cast<std::uint64_t>(unzigzag(code >> 1U)) * kUnit;
}

double BinaryReader::real() {
  std::uint64_t bits = 0;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    bits |= static_cast<std::uint64_t>(byte()) << shift;
  }
  return std::bit_cast<double>(bits);
}

std::string BinaryReader::string() {
  std::string text;
  for (std::uint64_t left = number(); left > 0; --left) {
    text.push_back(static_cast<char>(byte()));
  }
  return text;
}

void BinaryReader::keep(std::uint64_t bytes) {
  kept_ += bytes;
  if (kept_ > kFreeMemory + kKeptPerByte * (chunk_offset_ + position_)) {
    fail("its names and stacks repeat each other more often than a file of its size can mean");
  }
}

void BinaryReader::fail(std::string_view problem) const {
  fail_at(chunk_offset_ + position_, problem, kDamaged);
}

void BinaryReader::fail_at(std::uint64_t offset, std::string_view problem,
                           std::string_view remedy) const {
  throw InputError(source_.name(), fmt::format("byte {}", offset), problem, remedy);
}

}  // namespace highwater
