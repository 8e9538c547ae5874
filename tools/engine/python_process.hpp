// A Python process that answers lines with lines.
//
// Questions and answers go through its standard input, a socket that nothing else writes to: what a
// wrapper, a sitecustomize or a library prints can never be taken for an answer. Wrappers hand a
// standard input on, which not all do with other descriptors.
#pragma once

#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "traces/error.hpp"
#include "traces/formats/bytes/signal_cleanup.hpp"

namespace highwater {

class PythonProcess {
 public:
  /// A longer line is an error.
  static constexpr std::size_t kLongestLine = std::size_t{16} << 20U;

  /// Starts `command` (searched for in PATH) with only `environment`. @throws InputError if it
  /// cannot be started
  PythonProcess(const std::vector<std::string>& command,
                const std::map<std::string, std::string>& environment);
  PythonProcess(const PythonProcess&) = delete;
  PythonProcess& operator=(const PythonProcess&) = delete;
  ~PythonProcess();

  void send(const std::string& line);

  /// Its next line; waits for it, `limit` at most if there is one. Nothing if the process has
  /// ended.
  /// @throws InputError if the line is too long, or does not come in time @throws Cancelled
  std::optional<std::string> receive(std::optional<std::chrono::seconds> limit = std::nullopt);

  /// The last line that it has printed, on either output, in a length that fits in a message; empty
  /// if there is none. Any thread may ask.
  [[nodiscard]] std::string last_words() const;

  /// "--python NAME: PROBLEM; ...", with its last words. Any thread may ask.
  [[nodiscard]] InputError failure(std::string_view problem) const;

  /// Ends it, with all that it started: receive() finds no further line.
  void end();

 private:
  std::optional<std::string> take_line();
  bool hear();
  bool hear_answer();
  void hear_prints();
  void reap();

  std::string name_;
  pid_t process_ = 0;
  std::optional<KilledOnSignal> killed_;
  int conversation_ = -1;
  int prints_ = -1;
  std::string unread_;
  std::size_t searched_ = 0;  ///< of unread_: holds no end of a line
  mutable std::mutex lock_;
  std::string printed_;
};

/// What a process says that is started to say one thing.
struct OneAnswer {
  std::string text;        ///< all its lines; empty if it ends without an answer
  std::string last_words;  ///< as PythonProcess
};

/// `limit`: for the whole answer. @throws InputError as PythonProcess
OneAnswer ask_once(const std::vector<std::string>& command,
                   const std::map<std::string, std::string>& environment,
                   std::chrono::seconds limit);

/// "no answer in 300 s"
std::string silence_of(std::chrono::seconds limit);

}  // namespace highwater
