// Questions of several threads to one Python process, each with the answer that belongs to it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <boost/json.hpp>

#include "tools/engine/python_process.hpp"

namespace highwater {

/// The process ended instead of answering.
struct PythonEnded {
  std::string last_words;  ///< as PythonProcess
};

class PythonConversation {
 public:
  /// As PythonProcess. @throws InputError
  PythonConversation(const std::vector<std::string>& command,
                     const std::map<std::string, std::string>& environment);
  PythonConversation(const PythonConversation&) = delete;
  PythonConversation& operator=(const PythonConversation&) = delete;
  ~PythonConversation();

  /// What it says by itself when it has started. @throws as ask()
  boost::json::object greeting(std::chrono::seconds limit) { return answer(0, limit); }

  /// @throws PythonEnded @throws InputError if no answer comes in time, or something else comes
  /// @throws Cancelled
  boost::json::object ask(boost::json::object question, std::chrono::seconds limit);

 private:
  void listen();
  void take_answers();
  boost::json::object answer(std::int64_t number, std::chrono::seconds limit);

  PythonProcess process_;
  std::mutex lock_;
  std::condition_variable news_;
  std::map<std::int64_t, boost::json::object> answers_;  ///< by number, not yet fetched
  std::int64_t asked_ = 0;
  bool has_ended_ = false;
  std::exception_ptr failure_;  ///< why nobody listens any more, if it has not ended
  std::jthread listener_;       // last: it uses the others
};

}  // namespace highwater
