// Work cut into independent pieces: what sweep, scan, plan, chance, validate and simulate hand to
// whoever carries it out (threads, MPI ranks, shards).
//
// A piece is a number. Every process reads the same command line and the same files, so that a
// number says everything, and a result is a string of bytes. Which process carries a piece out, and
// when, changes nothing in what a command prints.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace highwater {

using PieceNumber = std::uint64_t;

/// For work whose progress somebody else shows.
inline constexpr std::string_view kUncounted;

/// Distinct numbers in the order in which their results are wanted: a list, or every n-th.
class PieceNumbers {
 public:
  PieceNumbers(PieceNumber first, PieceNumber step, std::size_t count)
      : first_(first), step_(step), count_(count) {}

  explicit PieceNumbers(std::vector<PieceNumber> list)
      : count_(list.size()), list_(std::move(list)) {}

  [[nodiscard]] std::size_t size() const { return count_; }

  [[nodiscard]] PieceNumber at(std::size_t position) const {
    return list_.empty() ? first_ + position * step_ : list_[position];
  }

 private:
  PieceNumber first_ = 0;
  PieceNumber step_ = 1;
  std::size_t count_ = 0;
  std::vector<PieceNumber> list_;
};

/// One list of work of a command.
struct PieceWork {
  std::string what;       ///< what is counted, for people: "replays"; kUncounted
  std::uint32_t job = 0;  ///< which list of the command this is, from 0
  std::function<std::string(PieceNumber)> carry_out;  ///< on any thread, several at once
};

}  // namespace highwater
