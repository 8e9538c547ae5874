// Rank 0 while a list of work is carried out: who has which pieces, and since when.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <vector>

#include "tools/fleet/crew.hpp"
#include "tools/fleet/crew_message.hpp"

namespace highwater {

class Leader {
 public:
  Leader(Crew& crew, const PieceRun& run);

  /// Returns when all results have been delivered. @throws what the first piece that failed threw
  void carry_out();

 private:
  using Clock = std::chrono::steady_clock;

  struct Worker {
    std::vector<std::size_t> held;  ///< positions
    Clock::time_point since;        ///< it was given them, or answered last
    bool is_idle = false;
  };

  bool receive_next();
  void receive(const Message& message);
  void take_answers(int rank, CrewMessage& message);
  void deliver(PieceAnswer& answer);
  void deliver_kept();

  void hand_out();
  void give(int rank, Worker& worker);
  [[nodiscard]] std::size_t pieces_at_once() const;
  [[nodiscard]] bool has_next();
  std::size_t take_next();

  void look_for_stalled();
  [[nodiscard]] bool is_stalled(const Worker& worker) const;
  void work_alone();
  [[nodiscard]] bool all_stalled() const;

  Crew* crew_;
  const PieceRun* run_;
  std::vector<Worker> workers_;    ///< by rank; that of rank 0 is not used
  std::deque<std::size_t> again_;  ///< positions of ranks that stalled
  std::size_t next_ = 0;           ///< the first position that nobody has been given
  std::size_t done_ = 0;           ///< results, in any order
  double seconds_ = 0;             ///< of all results
  double slowest_ = 0;
  LeaderTimes times_;
};

}  // namespace highwater
