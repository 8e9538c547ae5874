// Results of pieces in a file: a journal, or the part of one shard.
//
// One line of JSON says of what run they are. The records that follow have job, number, length and
// check sum each, in the order in which the pieces were finished. A journal is appended to, one
// write per record, so that a crash cuts at most the last one short; a part ends with a record that
// says how many there are, so that a copy that was cut short shows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/fleet/pieces.hpp"

namespace highwater {

/// Part `index` (from 1) of a run in `count` parts.
struct Shard {
  std::uint64_t index = 1;
  std::uint64_t count = 1;

  bool operator==(const Shard&) const = default;
};

inline constexpr std::uint64_t kMostShards = 1'000'000;

constexpr bool is_possible(const Shard& shard) {
  return 1 <= shard.index && shard.index <= shard.count && shard.count <= kMostShards;
}

/// What a run was asked: two runs with the same answers have the same.
struct RunIdentity {
  std::string version;                 ///< of the program
  std::vector<std::string> arguments;  ///< with the command; without where results go and come from
  std::string inputs;                  ///< check sum of all files that the arguments name
  std::optional<Shard> shard;
};

/// A record's place in a file.
struct PieceRecord {
  std::uint32_t job = 0;
  PieceNumber number = 0;
  std::uint64_t offset = 0;  ///< of its bytes
  std::uint32_t length = 0;
};

struct PieceFile {
  RunIdentity run;
  std::vector<PieceRecord> records;  ///< all whole ones
  std::uint64_t end = 0;             ///< of the last whole record
  bool is_complete = false;          ///< has its last record
};

/// @throws InputError for what is no such file, or is damaged anywhere but at its end
PieceFile read_piece_file(const std::string& path);

/// The first line of a file.
std::string header_line(const RunIdentity& run);

std::string record_bytes(std::uint32_t job, PieceNumber number, std::string_view result);

/// The last record of a part.
std::string end_bytes(std::uint64_t records);

/// Why results of `kept` are none of `run`; empty if they are.
std::string why_other_run(const RunIdentity& kept, const RunIdentity& run);

}  // namespace highwater
