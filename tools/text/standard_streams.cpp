#include "tools/text/standard_streams.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fcntl.h>
#include <span>
#include <unistd.h>
#include <utility>

#include "traces/error.hpp"

namespace highwater {
namespace {

void do_nothing(int /*signal*/) {}

}  // namespace

void secure_standard_descriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) == -1 && errno == EBADF) {
      ::open("/dev/null", O_RDWR);  // the lowest free number: this one
    }
  }

  struct sigaction action {};

  action.sa_handler = do_nothing;  // not SIG_IGN, which exec would hand on
  for (const int of_a_write : {SIGPIPE, SIGXFSZ}) {
    ::sigaction(of_a_write, &action, nullptr);
  }
}

StandardOutput::Buffer::Buffer(std::unique_ptr<ByteSink> sink) : sink_(std::move(sink)) {
  setp(text_.data(), text_.data() + text_.size());
}

StandardOutput::Buffer::int_type StandardOutput::Buffer::overflow(int_type character) {
  write_out();
  if (!traits_type::eq_int_type(character, traits_type::eof())) {
    sputc(traits_type::to_char_type(character));
  }
  return traits_type::not_eof(character);
}

int StandardOutput::Buffer::sync() {
  write_out();
  return 0;
}

// Emptied first: what could not be written is not tried again.
void StandardOutput::Buffer::write_out() {
  const std::span<const char> text(pbase(), pptr());
  setp(text_.data(), text_.data() + text_.size());
  sink_->write(std::as_bytes(text));
}

// The stream hands the buffer's own exception on where badbit is one.
StandardOutput::StandardOutput(std::unique_ptr<ByteSink> sink)
    : std::ostream(nullptr), buffer_(std::move(sink)) {
  rdbuf(&buffer_);
  exceptions(std::ios::badbit);
}

void StandardOutput::finish() {
  flush();
  buffer_.commit();
}

StandardOutput::~StandardOutput() {
  try {
    flush();
  } catch (const std::exception&) {
    // run_program has flushed and reported; a destructor cannot.
  }
}

}  // namespace highwater
