// Rules: each question gets its own answer, whatever the order, and a process that has ended is
// noticed. The process is a shell, which needs no Python.
#include "tools/engine/python_conversation.hpp"

#include <future>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "traces/error.hpp"

using namespace highwater;
namespace json = boost::json;

namespace {

constexpr std::chrono::seconds kLong{60};

/// Greets, reads two questions and answers the second one first.
constexpr const char* kSecondFirst = R"(
echo '{"number": 0, "torch": "2.15.0"}'
read first; read second
echo '{"number": 2, "is": "second"}'; echo '{"number": 1, "is": "first"}'
read until_the_end)";

struct Shell {
  explicit Shell(const std::string& script)
      : conversation({"/bin/sh", "-c", script}, {}, (folder / "log").string()) {}

  test::TempDir folder;
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
  CHECK_THROWS_AS(shell.conversation.ask(json::object{}, std::chrono::seconds(0)), InputError);
}

TEST_CASE("conversation: a program that does not exist", "[engine]") {
  CHECK_THROWS_AS(PythonConversation({"/no/such/python"}, {}, "/dev/null"), InputError);
}
