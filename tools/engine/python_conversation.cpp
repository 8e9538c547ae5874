#include "tools/engine/python_conversation.hpp"

#include <utility>

#include "traces/error.hpp"

namespace highwater {

PythonConversation::PythonConversation(const std::vector<std::string>& command,
                                       const std::map<std::string, std::string>& environment,
                                       const std::string& log)
    : process_(command, environment, log), listener_([this] { listen(); }) {}

PythonConversation::~PythonConversation() {
  process_.end();  // at which the listener ends
}

boost::json::object PythonConversation::ask(boost::json::object question,
                                            std::chrono::seconds limit) {
  std::int64_t number = 0;
  {
    const std::lock_guard lock(lock_);
    number = ++asked_;
    question["number"] = number;
    process_.send(boost::json::serialize(question));
  }
  return answer(number, limit);
}

void PythonConversation::listen() {
  for (;;) {
    const std::string line = process_.receive();
    const std::lock_guard lock(lock_);
    if (line.empty()) {
      has_ended_ = true;
      news_.notify_all();
      return;
    }
    boost::json::object answer = boost::json::parse(line).as_object();
    const auto number = answer.at("number").to_number<std::int64_t>();
    answers_.insert_or_assign(number, std::move(answer));
    news_.notify_all();
  }
}

boost::json::object PythonConversation::answer(std::int64_t number, std::chrono::seconds limit) {
  std::unique_lock lock(lock_);
  const bool has_news =
      news_.wait_for(lock, limit, [&] { return has_ended_ || answers_.contains(number); });
  if (!has_news) {
    throw InputError("--engine torch", "", "Python did not answer in time",
                     "try again, or use --engine model");
  }
  const auto found = answers_.find(number);
  if (found == answers_.end()) {
    throw PythonEnded{};
  }
  return std::move(answers_.extract(found).mapped());
}

}  // namespace highwater
