// Rules: each question gets its own answer, whatever the order and whatever is printed besides, and
// a process that has ended, stays silent or sends something else than an answer is noticed. The
// process is a shell, which needs no Python.
#include "tools/engine/python_conversation.hpp"

#include <future>
#include <string>

#include <catch2/catch.hpp>

#include "traces/cancellation.hpp"
#include "traces/error.hpp"

using namespace highwater;
using Catch::Matchers::Contains;
namespace json = boost::json;

namespace {

constexpr std::chrono::seconds kLong{60};

/// Greets, reads two questions and answers the second one first.
constexpr const char* kSecondFirst = R"(
echo '{"number": 0, "torch": "2.15.0"}' >&0
read first; read second
echo '{"number": 2, "is": "second"}' >&0; echo '{"number": 1, "is": "first"}' >&0
read until_the_end)";

struct Shell {
  explicit Shell(const std::string& script) : conversation({"/bin/sh", "-c", script}, {}) {}

  PythonConversation conversation;
};

}  // namespace

TEST_CASE("conversation: answers reach those who asked", "[engine]") {
  Shell shell(kSecondFirst);
  CHECK(shell.conversation.greeting(kLong).at("torch") == "2.15.0");
  auto other =
      std::async(std::launch::async, [&] { return shell.conversation.ask(json::object{}, kLong); });
  const json::object own = shell.conversation.ask(json::object{}, kLong);
  const json::object others = other.get();
  for (const json::object& answer : {own, others}) {
    CHECK(answer.at("is") == (answer.at("number") == 1 ? "first" : "second"));
  }
  CHECK(own.at("number") != others.at("number"));
}

TEST_CASE("conversation: a process that ends instead of answering", "[engine]") {
  Shell shell("read question; exit 3");
  CHECK_THROWS_AS(shell.conversation.ask(json::object{}, kLong), PythonEnded);
  CHECK_THROWS_AS(shell.conversation.ask(json::object{}, kLong), PythonEnded);
}

TEST_CASE("conversation: an answer that does not come in time", "[engine]") {
  Shell shell("read question; read until_the_end");
  CHECK_THROWS_WITH(shell.conversation.ask(json::object{}, std::chrono::seconds(0)),
                    Contains("no answer in 0 s") && Contains("--python"));
}

TEST_CASE("conversation: text that Python prints is not taken for an answer", "[engine]") {
  Shell shell("echo 'Loading modules'; echo '{\"number\": 0}'; echo oh >&2; " +
              std::string(kSecondFirst));
  CHECK(shell.conversation.greeting(kLong).at("torch") == "2.15.0");
}

TEST_CASE("conversation: silence ends with what was printed last", "[engine]") {
  Shell shell("echo first; echo 'waiting for a licence'; read until_the_end");
  CHECK_THROWS_WITH(shell.conversation.greeting(std::chrono::seconds(1)),
                    Contains("no answer in 1 s; the last that it printed: waiting for a licence"));
}

TEST_CASE("conversation: a broken answer is an error for whoever waits for it", "[engine]") {
  const std::string line = GENERATE("no JSON", "[]", R"({"torch": 1})", R"({"number": "0"})",
                                    R"({"number": -1})", R"({"number": 1})", R"({"number": 0.5})");
  CAPTURE(line);
  Shell shell("echo '" + line + "' >&0; read until_the_end");
  CHECK_THROWS_WITH(shell.conversation.greeting(kLong),
                    Contains("not an answer: " + line) && Contains("--python /bin/sh"));
  CHECK_THROWS_AS(shell.conversation.ask(json::object{}, kLong), InputError);
}

TEST_CASE("conversation: a line has a bound, and so has what is kept of the prints", "[engine]") {
  Shell shell("echo last; while :; do head -c 1000000 /dev/zero >&0 || exit; done");
  CHECK_THROWS_WITH(shell.conversation.greeting(kLong),
                    Contains("sent an answer of more than 16 MiB") && Contains("printed: last"));
  Shell noisy("head -c 3000000 /dev/zero | tr '\\0' 'x'; " + std::string(kSecondFirst));
  CHECK(noisy.conversation.greeting(kLong).at("torch") == "2.15.0");
}

TEST_CASE("conversation: an answer that is no longer wanted is not waited for", "[engine]") {
  Shell shell("read until_the_end");
  const CancelFlag is_cancelled = true;
  const CancelScope scope(&is_cancelled);
  CHECK_THROWS_AS(shell.conversation.greeting(kLong), Cancelled);
}

TEST_CASE("conversation: one answer of a process that is started for it", "[engine]") {
  const auto asked = [](const std::string& script, std::chrono::seconds limit) {
    return ask_once({"/bin/sh", "-c", script}, {{"PATH", "/usr/bin:/bin"}}, limit);
  };
  const OneAnswer answer = asked("echo noise; echo one >&0; echo two >&0; echo end", kLong);
  CHECK(answer.text == "one\ntwo\n");
  CHECK(answer.last_words == "end");
  CHECK(asked("exit 1", kLong).text.empty());
  CHECK_THROWS_WITH(asked("read until_the_end", std::chrono::seconds(0)), Contains("no answer"));
  CHECK_THROWS_WITH(asked("while :; do echo yes >&0 || exit; done", std::chrono::seconds(1)),
                    Contains("no answer in 1 s") || Contains("no end"));
}

TEST_CASE("conversation: a program that does not exist", "[engine]") {
  CHECK_THROWS_AS(PythonConversation({"/no/such/python"}, {}), InputError);
}
