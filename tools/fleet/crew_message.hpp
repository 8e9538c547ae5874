// What the ranks of a crew say to one another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/fleet/piece_codec.hpp"
#include "tools/fleet/pieces.hpp"

namespace highwater {

enum class CrewWord : std::uint8_t {
  ready,      ///< to rank 0: waits for pieces of a job
  results,    ///< to rank 0: some of the pieces it was given
  unable,     ///< to rank 0: cannot take part; `text` says why
  pieces,     ///< from rank 0: to be carried out
  job_ended,  ///< from rank 0: with the results that everybody gets
  dismissed,  ///< from rank 0: nothing more
  left,       ///< to rank 0: the answer
};

/// How a piece failed, so that rank 0 fails in the same way.
enum class FailureKind : std::uint8_t { none, usage, input, memory, internal };

struct PieceAnswer {
  std::uint64_t position = 0;
  PieceNumber number = 0;
  double seconds = 0;
  FailureKind failure = FailureKind::none;
  std::string bytes;  ///< the result, or what the error says
};

struct AskedPiece {
  std::uint64_t position = 0;
  PieceNumber number = 0;
};

struct CrewMessage {
  CrewWord word = CrewWord::ready;
  std::uint32_t round = 0;  ///< the list of work that it is about
  std::vector<AskedPiece> pieces;
  std::vector<PieceAnswer> answers;
  std::vector<std::string> results;
  std::string text;
};

template <>
inline constexpr std::size_t kEnumerators<CrewWord> = 7;
template <>
inline constexpr std::size_t kEnumerators<FailureKind> = 5;

}  // namespace highwater
