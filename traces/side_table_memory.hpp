// About how much memory the side tables take for each item, the nodes of their hash tables
// included.
//
// Readers add it up, to refuse files that were made to fill memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "traces/stack_table.hpp"

namespace highwater {

constexpr std::uint64_t kHashNodeMemory = 48;

constexpr std::uint64_t string_memory(std::size_t characters) {
  return sizeof(std::string) + kHashNodeMemory + characters;
}

constexpr std::uint64_t frame_memory() {
  return sizeof(Frame) + kHashNodeMemory;
}

constexpr std::uint64_t stack_memory(std::size_t frames) {
  return sizeof(std::size_t) + kHashNodeMemory + frames * sizeof(FrameId);
}

}  // namespace highwater
