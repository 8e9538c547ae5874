// A command as a function of another program: the Python module (tools/python/module).
//
// It runs on a thread of its own, so that the caller's thread is free to notice an interrupt. Calls
// may overlap. Nothing goes to the process's streams, and nothing ends the process.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tools/options/command_line.hpp"
#include "traces/cancellation.hpp"

namespace highwater {

/// What a command has to say.
struct CommandAnswer {
  std::string text;                   ///< what the program prints
  std::vector<std::string> exceeded;  ///< the budgets that the run is above, in sentences
};

class CommandCall {
 public:
  /// Begins `arguments`: a command with its options. 0 threads: as many as there are cores.
  explicit CommandCall(Arguments arguments, std::size_t threads = 0);
  CommandCall(const CommandCall&) = delete;
  CommandCall& operator=(const CommandCall&) = delete;

  /// Cancels what is not finished, and waits for its end.
  ~CommandCall();

  /// Whether it has ended when `time` is over.
  bool wait_for(std::chrono::milliseconds time);

  /// To be called once, after the end. @throws what the command threw
  CommandAnswer take();

 private:
  void run(const Arguments& arguments, std::size_t threads);

  CancelFlag is_cancelled_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool has_ended_ = false;
  CommandAnswer answer_;
  std::exception_ptr failure_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace highwater
