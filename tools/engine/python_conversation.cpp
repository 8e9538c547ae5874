#include "tools/engine/python_conversation.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "traces/cancellation.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

constexpr std::chrono::milliseconds kBetweenLooks{100};  // at whether the answer is still wanted
constexpr std::size_t kShownOfLine = 80;

struct NumberedAnswer {
  std::int64_t number = 0;
  json::object answer;
};

/// Nothing for a line that is not an answer.
std::optional<NumberedAnswer> read_answer(const std::string& line) {
  json::error_code broken;
  json::value value = json::parse(line, broken);
  if (broken || !value.is_object()) {
    return std::nullopt;
  }
  const json::value* const number = value.get_object().if_contains("number");
  if (number == nullptr || !number->is_int64() || number->get_int64() < 0) {
    return std::nullopt;
  }
  return NumberedAnswer{number->get_int64(), std::move(value.get_object())};
}

}  // namespace

PythonConversation::PythonConversation(const std::vector<std::string>& command,
                                       const std::map<std::string, std::string>& environment)
    : process_(command, environment), listener_([this] { listen(); }) {}

PythonConversation::~PythonConversation() {
  process_.end();  // at which the listener ends
}

json::object PythonConversation::ask(json::object question, std::chrono::seconds limit) {
  std::int64_t number = 0;
  {
    const std::lock_guard lock(lock_);
    number = ++asked_;
    question["number"] = number;
    process_.send(json::serialize(question));
  }
  return answer(number, limit);
}

/// Whatever goes wrong in this thread is thrown where somebody waits for an answer.
void PythonConversation::listen() {
  std::exception_ptr failure;
  try {
    take_answers();
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(lock_);
  failure_ = failure;
  has_ended_ = true;
  news_.notify_all();
}

void PythonConversation::take_answers() {
  while (const std::optional<std::string> line = process_.receive()) {
    std::optional<NumberedAnswer> read = read_answer(*line);
    const std::lock_guard lock(lock_);
    if (!read || read->number > asked_) {
      throw process_.failure(fmt::format("sent something that is not an answer: {}{}",
                                         line->substr(0, kShownOfLine),
                                         line->size() > kShownOfLine ? "..." : ""));
    }
    answers_.insert_or_assign(read->number, std::move(read->answer));
    news_.notify_all();
  }
}

json::object PythonConversation::answer(std::int64_t number, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::unique_lock lock(lock_);
  while (!has_ended_ && !answers_.contains(number)) {
    stop_if_cancelled();
    if (std::chrono::steady_clock::now() > end) {
      throw process_.failure(silence_of(limit));
    }
    news_.wait_for(lock, kBetweenLooks);
  }
  const auto found = answers_.find(number);
  if (found != answers_.end()) {
    return std::move(answers_.extract(found).mapped());
  }
  if (failure_) {
    std::rethrow_exception(failure_);
  }
  throw PythonEnded{process_.last_words()};
}

}  // namespace highwater
