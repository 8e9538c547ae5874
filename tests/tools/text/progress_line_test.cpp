// Rules: long work shows on a terminal how far it is, and leaves nothing behind there; elsewhere it
// shows nothing.
#include "tools/text/progress_line.hpp"

#include <array>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace highwater;
using Catch::Contains;

namespace {

/// While it lives, standard error is a terminal, and what comes to it can be read.
class TerminalAsError {
 public:
  TerminalAsError() : screen_(::posix_openpt(O_RDWR | O_NOCTTY)), saved_(::dup(STDERR_FILENO)) {
    ::grantpt(screen_);
    ::unlockpt(screen_);
    const int terminal = ::open(::ptsname(screen_), O_RDWR | O_NOCTTY);
    ::dup2(terminal, STDERR_FILENO);
    ::close(terminal);
  }

  TerminalAsError(const TerminalAsError&) = delete;
  TerminalAsError& operator=(const TerminalAsError&) = delete;

  ~TerminalAsError() {
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
    ::close(screen_);
  }

  /// What there is to read once `is_enough` of it, or after a minute without anything new.
  template <class IsEnough>
  [[nodiscard]] std::string shown(IsEnough is_enough) const {
    std::string text;
    while (is_ready(is_enough(text) ? 0 : 60'000)) {
      text += read_some();
    }
    return text;
  }

  [[nodiscard]] bool is_empty() const { return !is_ready(0); }

 private:
  [[nodiscard]] bool is_ready(int milliseconds) const {
    pollfd ready{.fd = screen_, .events = POLLIN, .revents = 0};
    return ::poll(&ready, 1, milliseconds) == 1;
  }

  [[nodiscard]] std::string read_some() const {
    std::array<char, 1000> buffer{};
    const ssize_t n = ::read(screen_, buffer.data(), buffer.size());
    return {buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0};
  }

  int screen_;
  int saved_;
};

}  // namespace

TEST_CASE("progress: says how much of what is done and for how long it has been going on",
          "[text][progress]") {
  CHECK(progress_text(12, 300, "cases", 4) == "12 of 300 cases, 4 s");
  CHECK(progress_text(12, 0, "MB read", 4) == "12 MB read, 4 s");
  CHECK(progress_text(0, 0, "replaying", 4) == "replaying, 4 s");
}

TEST_CASE("progress: long work shows on a terminal and is erased at the end", "[text][progress]") {
  const TerminalAsError terminal;
  {
    const ProgressLine progress(300, "cases", std::chrono::milliseconds(0));
    progress.show(12);
    const std::string line = "\r\x1b[K12 of 300 cases, ";
    CHECK_THAT(terminal.shown([&](const std::string& text) {
      return text.ends_with(" s") && text.find(line) != std::string::npos;
    }),
               Contains(line));
  }
  const auto is_erased = [](const std::string& text) { return text.ends_with("\r\x1b[K"); };
  CHECK(is_erased(terminal.shown(is_erased)));
}

TEST_CASE("progress: short work shows nothing", "[text][progress]") {
  const TerminalAsError terminal;
  { const ProgressLine progress("replaying"); }
  CHECK(terminal.is_empty());
}

TEST_CASE("long work: a log hears of it, a terminal has its line already", "[progress]") {
  const LongWork::Pace quick{std::chrono::milliseconds(1), std::chrono::milliseconds(1)};
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const int saved = ::dup(STDERR_FILENO);
  ::dup2(pipe[1], STDERR_FILENO);
  std::array<char, 200> buffer{};
  {
    const LongWork told("a script runs", quick);
    CHECK(::read(pipe[0], buffer.data(), buffer.size() - 1) > 0);
  }
  ::dup2(saved, STDERR_FILENO);
  ::close(saved);
  ::close(pipe[0]);
  ::close(pipe[1]);
  CHECK_THAT(std::string(buffer.data()), Catch::Contains("highwater: a script runs, 0 s"));
  const TerminalAsError screen;
  {
    const LongWork silent("a script runs", quick);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  CHECK(screen.is_empty());
}
