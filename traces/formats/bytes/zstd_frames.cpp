#include "traces/formats/bytes/zstd_frames.hpp"

#include <algorithm>

namespace highwater {
namespace {

constexpr std::uint32_t kSkippableMagic = 0x184D2A50;  // the low four bits are free

/// Bytes of a frame header after its descriptor byte (RFC 8878, section 3.1.1.1).
std::uint64_t frame_header_size(std::uint32_t descriptor) {
  constexpr std::array<std::uint64_t, 4> kDictionaryId{0, 1, 2, 4};
  constexpr std::array<std::uint64_t, 4> kContentSize{0, 2, 4, 8};
  const bool single_segment = (descriptor & 0x20U) != 0;
  const std::uint32_t content_size_flag = descriptor >> 6U;
  const std::uint64_t content_size =
      content_size_flag == 0 && single_segment ? 1 : kContentSize.at(content_size_flag);
  return (single_segment ? 0U : 1U) + kDictionaryId.at(descriptor & 3U) + content_size;
}

}  // namespace

void ZstdFrames::feed(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    bytes = bytes.subspan(is_skipping() ? skip(bytes) : collect(bytes));
    while (have_ == size_) {
      finish_part();
    }
  }
}

bool ZstdFrames::is_skipping() const {
  return part_ == Part::frame_header || part_ == Part::block || part_ == Part::checksum ||
         part_ == Part::skippable;
}

std::size_t ZstdFrames::collect(std::span<const std::byte> bytes) {
  const std::size_t n = std::min<std::size_t>(bytes.size(), size_ - have_);
  std::ranges::copy(bytes.first(n), field_.begin() + static_cast<std::ptrdiff_t>(have_));
  have_ += n;
  return n;
}

std::size_t ZstdFrames::skip(std::span<const std::byte> bytes) {
  const std::size_t n = std::min<std::size_t>(bytes.size(), size_ - have_);
  have_ += n;
  return n;
}

std::uint32_t ZstdFrames::collected() const {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    value |= std::to_integer<std::uint32_t>(field_.at(i)) << (8 * i);
  }
  return value;
}

void ZstdFrames::enter(Part part, std::uint64_t size) {
  part_ = part;
  size_ = size;
  have_ = 0;
}

void ZstdFrames::finish_part() {
  switch (part_) {
    case Part::magic:
      return finish_magic();
    case Part::descriptor:
      return finish_descriptor();
    case Part::frame_header:
      return enter(Part::block_header, 3);
    case Part::block_header:
      return finish_block_header();
    case Part::block:
      return finish_block();
    case Part::skippable_size:
      return enter(Part::skippable, collected());
    case Part::checksum:
    case Part::skippable:
      return enter(Part::magic, 4);
  }
}

void ZstdFrames::finish_magic() {
  if ((collected() & 0xfffffff0U) == kSkippableMagic) {
    enter(Part::skippable_size, 4);
  } else {
    enter(Part::descriptor, 1);
  }
}

void ZstdFrames::finish_descriptor() {
  const std::uint32_t descriptor = collected();
  has_checksum_ = (descriptor & 4U) != 0;
  enter(Part::frame_header, frame_header_size(descriptor));
}

void ZstdFrames::finish_block_header() {
  const std::uint32_t header = collected();
  const bool is_run = ((header >> 1U) & 3U) == 1;  // one byte, repeated
  last_block_ = (header & 1U) != 0;
  enter(Part::block, is_run ? 1 : header >> 3U);
}

void ZstdFrames::finish_block() {
  if (!last_block_) {
    enter(Part::block_header, 3);
  } else if (has_checksum_) {
    enter(Part::checksum, 4);
  } else {
    enter(Part::magic, 4);
  }
}

}  // namespace highwater
