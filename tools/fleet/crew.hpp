// The processes of a job that share the work of one command: rank 0 hands out, the others carry
// out.
//
// All ranks run the same command up to its pieces, so that they know what a piece's number means.
// Rank 0 hands out few pieces at a time, so that a fast rank gets more, and prints; the others ask
// for pieces, answer with results, and say nothing else. MPI is all the communication there is, and
// rank 0 sleeps between messages.
//
// A rank that has held pieces for longer than the limit without a result has stalled: its pieces
// are handed out again, and the first result of a piece counts. What dies ends an MPI job (Open MPI
// 4 has no way to go on); a journal keeps what was finished.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tools/fleet/executor.hpp"
#include "tools/fleet/transport.hpp"

namespace highwater {

/// How long a rank may hold pieces without a result: `least`, or this many times the slowest piece.
struct StallLimit {
  std::chrono::duration<double> least = std::chrono::seconds(300);
  double times_slowest = 10;
};

struct CrewMessage;

class Crew {
 public:
  explicit Crew(Transport& transport) : transport_(&transport) {}

  [[nodiscard]] bool is_leader() const { return transport_->rank() == 0; }

  [[nodiscard]] int size() const { return transport_->size(); }

  void set_stall_limit(const StallLimit& limit) { limit_ = limit; }

  /// Rank 0: has `run.wanted` carried out by the others.
  void lead(const PieceRun& run);

  /// Rank 0: ends the list of work, and gives everybody `results`, if they are for everybody.
  void close(const std::vector<std::string>& results);

  /// The others: carry out what rank 0 hands out until the list of work ends; returns what it gave
  /// everybody. @throws PiecesOnly when rank 0 needs nobody any more
  std::vector<std::string> follow(const PieceWork& work);

  /// Rank 0: nothing more is handed out. The others: waits for that. `exit_code` is what the job
  /// ends with if some rank does not answer any more.
  void dismiss(int exit_code);

  /// The others: tells rank 0 why this rank cannot take part.
  void report_failure(const std::string& what);

  /// Ranks that stalled, as sentences.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  friend class Leader;

  void tell_all(const CrewMessage& message);
  void wait_until_all_left(int exit_code);

  Transport* transport_;
  StallLimit limit_;
  std::uint32_t round_ =
      0;  ///< calls of follow(), or of close(): messages of earlier ones are late
  std::vector<std::string> notes_;
  std::vector<bool> is_stalled_;  ///< by rank
  bool is_dismissed_ = false;
};

/// The crew that this process belongs to; nullptr: it is alone.
Crew* crew();

/// For every Fleet from now on. `crew` must outlive them.
void join_crew(Crew* crew);

/// Threads are for rank 0 alone: under mpirun there is a process for each core.
class CrewExecutor : public Executor {
 public:
  explicit CrewExecutor(Crew& crew) : crew_(&crew) {}

  void run(const PieceRun& run) override { crew_->lead(run); }

 private:
  Crew* crew_;
};

}  // namespace highwater
