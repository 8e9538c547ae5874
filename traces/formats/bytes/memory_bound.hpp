// How much memory what is read may take, so that no file, however it was made, fills a machine.
//
// Real snapshots need about 1 byte for each byte of the file, and 3 where all they hold is call
// stacks; text traces need up to 4. What a reader keeps is compared with the bound now and then,
// since adding it up takes time.
#pragma once

#include <cstdint>

namespace highwater {

constexpr std::uint64_t kMemoryPerByte = 4;
constexpr std::uint64_t kFreeMemory = std::uint64_t{64} << 20;       ///< whatever was read
constexpr std::uint64_t kMemoryCheckEvery = std::uint64_t{1} << 18;  ///< bytes

/// The most that what is kept of the first `bytes_read` bytes may take.
constexpr std::uint64_t most_memory(std::uint64_t bytes_read) {
  return kFreeMemory + kMemoryPerByte * bytes_read;
}

}  // namespace highwater
