// Host memory that offloading uses on one rank: which buffers, pinned or pageable, and how much the
// host actually allocates for them.
//
// Pinned memory comes from PyTorch's CachingHostAllocator (ATen/core/CachingHostAllocator.h,
// PyTorch 2.6: allocate(), free()): each request is rounded up to a power of two
// (c10::llvm::PowerOf2Ceil), a freed block goes to a list of its size and serves only requests that
// round to the same size; nothing is returned to the system. Blocks count as free at once: events
// of copies that still read them are not modelled. Pageable memory is counted as requested.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace highwater {

/// Bytes that the pinned allocator takes for a request: the next power of two, 0 for 0.
std::int64_t pinned_size(std::int64_t bytes);

/// Buffers of one kind.
struct HostBuffers {
  std::string what;  ///< "parameter", "fp32 gradients"
  bool is_pinned = false;
  std::int64_t requested = 0;  ///< bytes
  std::int64_t taken = 0;      ///< bytes with the pinned allocator's rounding
  std::uint64_t blocks = 0;

  bool operator==(const HostBuffers&) const = default;
};

/// Host memory at the moment when its use peaks.
struct HostAccount {
  std::vector<HostBuffers> buffers;  ///< in the order in which each kind first came up
  std::int64_t cached = 0;           ///< bytes of unused pinned blocks

  [[nodiscard]] std::int64_t requested() const;

  /// Bytes of all pinned blocks, unused ones included: memory that cannot be paged out.
  [[nodiscard]] std::int64_t pinned() const;

  [[nodiscard]] std::int64_t pageable() const;

  [[nodiscard]] std::int64_t taken() const { return pinned() + pageable(); }

  bool operator==(const HostAccount&) const = default;
};

/// The peaks of one rank's host memory in the parts of a run.
struct HostPeaks {
  HostAccount making;        ///< the model
  HostAccount initialising;  ///< from there to the first step
  HostAccount training;      ///< all steps

  [[nodiscard]] std::int64_t highest() const {
    return std::max({making.taken(), initialising.taken(), training.taken()});
  }

  bool operator==(const HostPeaks&) const = default;
};

/// Whether the driver locks the pages of a block.
enum class HostKind : std::uint8_t { pageable, pinned };

/// The number of a live block.
using HostBlock = std::uint64_t;

class HostMemory {
 public:
  /// A block for `what`. @pre bytes >= 0
  HostBlock allocate(std::int64_t bytes, HostKind kind, std::string_view what);

  /// Pages that a program locks itself, for good: pinned, outside PyTorch's allocator.
  void lock(std::int64_t bytes, std::string_view what);

  void free(HostBlock block);

  /// Changes what a live block is for.
  void label(HostBlock block, std::string_view what);

  /// The moment when most was taken; among several, the one when most was in use.
  [[nodiscard]] HostAccount account() const;

  /// The account of what was, and another begins with what is taken now.
  HostAccount next_account();

  /// Sizes of the pinned blocks requested from the driver, in order.
  [[nodiscard]] const std::vector<std::int64_t>& pinned_blocks() const { return pinned_blocks_; }

 private:
  struct Block {
    std::size_t kind = 0;
    std::int64_t bytes = 0;
  };

  std::size_t number_of(std::string_view what, HostKind kind);
  std::int64_t taken_by(const Block& block) const;
  void count(const Block& block, int sign);
  [[nodiscard]] bool is_above_highest() const;

  HostAccount now_;
  HostAccount highest_;
  std::vector<Block> blocks_;        ///< by number
  std::vector<std::uint64_t> free_;  ///< pinned blocks without a user, by the log of their size
  std::vector<std::int64_t> pinned_blocks_;
};

}  // namespace highwater
