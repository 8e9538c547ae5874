// Who carries pieces out.
#pragma once

#include <cstddef>
#include <functional>

#include "tools/fleet/ordered_delivery.hpp"
#include "tools/fleet/piece_times.hpp"
#include "tools/fleet/pieces.hpp"
#include "tools/fleet/result_store.hpp"

namespace highwater {

/// A list of work, the part of it that is wanted, and where its results go.
struct PieceRun {
  const PieceWork* work;
  const PieceNumbers* wanted;
  ResultStore* store;
  OrderedDelivery* delivery;
  PieceTimes* times;
  std::function<void(std::size_t done)> progress;  ///< one call at a time
};

class Executor {
 public:
  Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  virtual ~Executor() = default;

  /// Delivers every position of `run.wanted`; what the store has is not carried out again.
  /// @throws what the first piece that failed threw
  virtual void run(const PieceRun& run) = 0;
};

/// The threads of this process.
class ThreadExecutor : public Executor {
 public:
  void run(const PieceRun& run) override;
};

/// What carrying out `number` comes to, kept if it comes to a result; its time is noted.
PieceOutcome outcome_of(const PieceRun& run, PieceNumber number);

/// The kept result of `number`. @pre the store has it
PieceOutcome kept_outcome(const PieceRun& run, PieceNumber number);

}  // namespace highwater
