#include <chrono>
#include <mutex>

#include "sim/replay/parallel.hpp"
#include "tools/fleet/executor.hpp"

namespace highwater {

PieceOutcome outcome_of(const PieceRun& run, PieceNumber number) {
  PieceOutcome outcome;
  const auto begin = std::chrono::steady_clock::now();
  try {
    outcome.result = run.work->carry_out(number);
  } catch (...) {
    outcome.failure = std::current_exception();
    return outcome;
  }
  run.times->add_piece(
      run.work->job, number,
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  run.store->keep(run.work->job, number, outcome.result);
  return outcome;
}

PieceOutcome kept_outcome(const PieceRun& run, PieceNumber number) {
  return {run.store->find(run.work->job, number)};
}

void ThreadExecutor::run(const PieceRun& run) {
  std::size_t done = 0;
  std::mutex progress_lock;
  for_each_index(run.wanted->size(), [&](std::size_t position) {
    const PieceNumber number = run.wanted->at(position);
    run.delivery->wait_and_deliver(position, run.store->has(run.work->job, number)
                                                 ? kept_outcome(run, number)
                                                 : outcome_of(run, number));
    const std::lock_guard lock(progress_lock);
    run.progress(++done);
  });
}

}  // namespace highwater
