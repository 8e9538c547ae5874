// The program that holds NVIDIA's own cuDNN and answers a recorded process's questions (wire.hpp):
//
//   cudnn_library LIBCUDNN NVRTC GPU      NVRTC may be empty; GPU: a device's properties as JSON
//
// Its standard input is a socket to the process that asks. A process of its own, since the library
// wants another driver than the recorded process has, and may crash or hang: then the socket
// closes, which is an answer as well.
#include <cstdio>
#include <unistd.h>

#include "tools/record/fakecuda/cudnn/channel.hpp"
#include "tools/record/fakecuda/cudnn_library/descriptors.hpp"
#include "tools/record/fakecuda/cudnn_library/library.hpp"

namespace highwater::cudnn_library {
namespace {

namespace wire = fakecuda::wire;

constexpr int kSocket = STDIN_FILENO;
// The longest answer, a compiled plan, takes a second or two.
constexpr unsigned kPatience = 120;  // seconds

/// The asking process, whose script may wait for all of its children, keeps none: this one belongs
/// to nobody, nor to the terminal whose Ctrl-C ends the script.
void leave_parent() {
  if (const pid_t child = fork(); child != 0) {
    _exit(child < 0 ? 1 : 0);
  }
  setsid();
}

/// Where the library writes its own messages.
void keep_off_standard_output() {
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

void answer_all(const Library& library) {
  Descriptors descriptors(library);
  while (const auto question = wire::receive_message(kSocket)) {
    alarm(kPatience);  // ends this process if the library hangs
    const wire::Answer answer = descriptors.answer(*question);
    alarm(0);
    if (!wire::send_message(kSocket, wire::packed(answer))) {
      return;
    }
  }
}

int run(char** arguments) {
  leave_parent();
  keep_off_standard_output();
  alarm(kPatience);
  const Library library = load_library(arguments[1], arguments[2], arguments[3]);
  alarm(0);
  const wire::Greeting greeting{
      .cudnn = library.version == nullptr ? 0 : static_cast<std::int64_t>(library.version()),
      .compiler = library.compiler,
      .problem = library.problem};
  if (wire::send_message(kSocket, wire::packed(greeting)) && library.problem.empty()) {
    answer_all(library);
  }
  return 0;
}

}  // namespace
}  // namespace highwater::cudnn_library

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("usage: cudnn_library LIBCUDNN NVRTC GPU, with a socket as standard input\n",
               stderr);
    return 2;
  }
  const int status = highwater::cudnn_library::run(arguments);
  _exit(status);  // the library's own destructors expect a device
}
