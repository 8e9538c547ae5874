#include "sim/peak/free_byte_shares.hpp"

#include "traces/error.hpp"

namespace highwater {
namespace {

[[noreturn]] void refuse() {
  throw InputError("", "", "byte-operations beyond 64 bits",
                   "no real program uses such sizes; check the trace");
}

}  // namespace

std::uint64_t add_byte_operations(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) {
    refuse();
  }
  return sum;
}

PieceId FreeByteShares::add(Bytes size) {
  if (unused_.empty()) {
    pieces_.emplace_back();
    unused_.emplace_back(pieces_.size() - 1);
  }
  const PieceId id = unused_.back();
  unused_.pop_back();
  pieces_[id.index()] = Piece{.free = size};
  return id;
}

void FreeByteShares::advance(Piece& piece, std::uint64_t now) {
  if (piece.blocks > 0 && now > piece.since) {
    std::uint64_t amount = 0;
    if (__builtin_mul_overflow(piece.free.count(), now - piece.since, &amount)) {
      refuse();
    }
    amount = add_byte_operations(amount, piece.carry);
    piece.integral = add_byte_operations(piece.integral, amount / piece.blocks);
    piece.carry = amount % piece.blocks;
  }
  piece.since = now;
}

FreeByteShares::Part FreeByteShares::enter(PieceId id, Bytes bytes, std::uint64_t now) {
  Piece& piece = pieces_[id.index()];
  advance(piece, now);
  piece.free -= bytes;
  ++piece.blocks;
  return {id, bytes, piece.integral};
}

std::uint64_t FreeByteShares::leave(const Part& part, std::uint64_t now) {
  Piece& piece = pieces_[part.piece.index()];
  advance(piece, now);
  piece.free += part.bytes;
  std::uint64_t share = piece.integral - part.integral_before;
  if (--piece.blocks == 0) {
    share = add_byte_operations(share, piece.carry);
    piece.carry = 0;
  }
  return share;
}

}  // namespace highwater
