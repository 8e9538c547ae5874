// Rules: long work shows on a terminal how far it is, and leaves nothing behind there; elsewhere it
// shows nothing.
#include "tools/text/progress_line.hpp"

#include <array>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include <catch2/catch.hpp>

using namespace highwater;
using Catch::Contains;
using Catch::EndsWith;

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

  [[nodiscard]] std::string shown() const {
    std::string text;
    std::array<char, 1000> buffer{};
    pollfd ready{.fd = screen_, .events = POLLIN, .revents = 0};
    while (::poll(&ready, 1, 0) == 1) {
      const ssize_t n = ::read(screen_, buffer.data(), buffer.size());
      text.append(buffer.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    return text;
  }

 private:
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

TEST_CASE("progress: work of more than a second shows on a terminal and is erased at the end",
          "[text][progress]") {
  const TerminalAsError terminal;
  {
    const ProgressLine progress(300, "cases");
    progress.show(12);
    ::usleep(1200000);
  }
  CHECK_THAT(terminal.shown(), Contains("12 of 300 cases, 1 s") && EndsWith("\r\x1b[K"));
}

TEST_CASE("progress: short work shows nothing", "[text][progress]") {
  const TerminalAsError terminal;
  { const ProgressLine progress("replaying"); }
  CHECK(terminal.shown().empty());
}
