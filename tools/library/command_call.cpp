#include "tools/library/command_call.hpp"

#include <sstream>
#include <utility>

#include "sim/replay/parallel.hpp"
#include "tools/commands/commands.hpp"
#include "tools/fleet/fleet.hpp"
#include "tools/studies/gate/budget.hpp"
#include "traces/formats/bytes/opened_inputs.hpp"

namespace highwater {
namespace {

CommandAnswer answer_to(const Arguments& arguments) {
  std::ostringstream out;
  CommandAnswer answer;
  try {
    run_command(arguments, out);
  } catch (const HelpRequested& help) {
    out << help.text;
  } catch (const PiecesOnly&) {  // its answer is a file
  } catch (const BudgetExceeded& budget) {
    answer.exceeded = budget.reasons;
  }
  answer.text = std::move(out).str();
  return answer;
}

}  // namespace

CommandCall::CommandCall(Arguments arguments, std::size_t threads)
    : thread_([this, given = std::move(arguments), threads] { run(given, threads); }) {}

CommandCall::~CommandCall() {
  is_cancelled_ = true;
}

void CommandCall::run(const Arguments& arguments, std::size_t threads) {
  const CancelScope scope(&is_cancelled_);
  const ThreadLimitScope limit(threads);
  const InputsOfRun inputs;
  try {
    answer_ = answer_to(arguments);
  } catch (...) {
    failure_ = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  has_ended_ = true;
  ended_.notify_all();
}

bool CommandCall::wait_for(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return ended_.wait_for(lock, time, [this] { return has_ended_; });
}

CommandAnswer CommandCall::take() {
  thread_.join();
  if (failure_) {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  return std::move(answer_);
}

}  // namespace highwater
