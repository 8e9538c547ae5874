// Where the frames of a zstd stream end.
//
// Boost's zstd filter mistakes a stream that stops in the middle of a frame for a short file. This
// follows the frame and block headers (RFC 8878, section 3.1) alongside, so that a truncated file
// is noticed; it does not look inside blocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace highwater {

class ZstdFrames {
 public:
  /// Follows the next compressed bytes.
  void feed(std::span<const std::byte> bytes);

  /// True before the first and after each whole frame.
  [[nodiscard]] bool at_boundary() const { return part_ == Part::magic && have_ == 0; }

 private:
  enum class Part : std::uint8_t {
    magic,
    descriptor,
    frame_header,
    block_header,
    block,
    checksum,
    skippable_size,
    skippable,
  };

  std::size_t collect(std::span<const std::byte> bytes);
  std::size_t skip(std::span<const std::byte> bytes);
  void finish_part();
  void enter(Part part, std::uint64_t size);
  void finish_magic();
  void finish_descriptor();
  void finish_block_header();
  void finish_block();
  [[nodiscard]] bool is_skipping() const;
  [[nodiscard]] std::uint32_t collected() const;

  Part part_ = Part::magic;
  std::uint64_t size_ = 4;  ///< bytes of the current part
  std::uint64_t have_ = 0;  ///< of them seen
  std::array<std::byte, 4> field_{};
  bool last_block_ = false;
  bool has_checksum_ = false;
};

}  // namespace highwater
