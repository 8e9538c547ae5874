// `--piece-times FILE`: what the time of a fleet goes to, as lines of JSON.
//
//   {"list":0,"piece":17,"seconds":0.0123,"rank":2}     each piece; rank under mpirun alone
//   {"list":0,"what":"files","pieces":500,"seconds":...,"processes":3,"messages":...,"hand_outs":...,
//    "message_seconds":...,"delivery_seconds":...}      each list of work; from "processes" on,
//    under
//                                                       mpirun: what rank 0 spent
//
// tests/bench/fleet_scaling.py tells from it how long more ranks would take.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tools/fleet/pieces.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

namespace highwater {

/// What rank 0 does while a list of work is carried out.
struct LeaderTimes {
  int processes = 0;
  std::uint64_t messages = 0;   ///< received
  std::uint64_t hand_outs = 0;  ///< of one or several pieces
  double message_seconds = 0;   ///< receiving, and handing out what is wanted then
  double delivery_seconds = 0;  ///< keeping results and putting them in their places
};

class PieceTimes {
 public:
  /// Nothing is noted with an empty `path`. @throws Error if the file cannot be written
  explicit PieceTimes(const std::string& path);

  [[nodiscard]] bool is_wanted() const { return sink_ != nullptr; }

  /// On any thread.
  void add_piece(std::uint32_t job, PieceNumber number, double seconds,
                 std::optional<int> rank = {});

  void set_leader(const LeaderTimes& leader) { leader_ = leader; }

  /// The pieces added since the last list, and what set_leader() said of it.
  void end_list(const PieceWork& work, double seconds);

  /// Once, last: the file is there then.
  void finish();

 private:
  void write(const std::string& line);

  std::unique_ptr<ByteSink> sink_;
  std::mutex lock_;
  std::string buffer_;
  std::uint64_t pieces_ = 0;
  std::optional<LeaderTimes> leader_;
};

}  // namespace highwater
