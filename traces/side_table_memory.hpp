// About how much memory the side tables take for each item, its part of their hash tables included.
//
// Readers add it up, to refuse files that were made to fill memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "traces/stack_table.hpp"

namespace highwater {

constexpr std::uint64_t kHashNodeMemory = 48;
constexpr std::uint64_t kHashSlotsMemory = 32;  ///< of an item of a HashIndex, at most

constexpr std::uint64_t string_memory(std::size_t characters) {
  return sizeof(std::string) + kHashNodeMemory + characters;
}

constexpr std::uint64_t frame_memory() {
  return sizeof(Frame) + kHashSlotsMemory;
}

constexpr std::uint64_t stack_memory(std::size_t frames) {
  return sizeof(std::size_t) + kHashSlotsMemory + frames * sizeof(FrameId);
}

}  // namespace highwater
