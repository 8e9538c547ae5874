// The free bytes of pieces of memory shared among their active blocks, in whole numbers and in
// constant time per change.
//
// Each piece keeps the integral over time of free bytes / active blocks, brought up to date only
// when one of the two changes; a block's share is the difference of the integral between its end
// and its begin. What the division leaves over is carried to the next interval of the piece and at
// last to its last block, so that the shares sum to the integral of the free bytes exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/ids.hpp"
#include "traces/units.hpp"

namespace highwater {

using PieceId = Id<struct PieceTag>;  ///< a fixed segment or a page, see fragmentation_blame.hpp

class FreeByteShares {
 public:
  /// A block's bytes in one piece, from enter() to leave().
  struct Part {
    PieceId piece;
    Bytes bytes;
    std::uint64_t integral_before = 0;
  };

  PieceId add(Bytes size);

  /// Only of a piece without blocks.
  void remove(PieceId piece) { unused_.push_back(piece); }

  /// A block becomes active at time `now`; times never decrease.
  Part enter(PieceId piece, Bytes bytes, std::uint64_t now);
  /// Its share in byte-operations. @throws InputError when 64 bits do not hold it.
  std::uint64_t leave(const Part& part, std::uint64_t now);

  /// Free bytes and active blocks right now.
  [[nodiscard]] Bytes free_bytes(PieceId piece) const { return pieces_[piece.index()].free; }

  [[nodiscard]] std::uint64_t blocks(PieceId piece) const { return pieces_[piece.index()].blocks; }

  /// One past the largest index of any piece so far.
  [[nodiscard]] std::size_t size() const { return pieces_.size(); }

 private:
  struct Piece {
    Bytes free;
    std::uint64_t blocks = 0;
    std::uint64_t since = 0;     ///< the integral is up to date until here
    std::uint64_t integral = 0;  ///< of free bytes per active block
    std::uint64_t carry = 0;     ///< byte-operations not yet in the integral, fewer than blocks
  };

  static void advance(Piece& piece, std::uint64_t now);

  std::vector<Piece> pieces_;
  std::vector<PieceId> unused_;
};

/// a + b. @throws InputError when 64 bits do not hold it.
std::uint64_t add_byte_operations(std::uint64_t a, std::uint64_t b);

}  // namespace highwater
