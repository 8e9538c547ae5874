#include "tools/record/fakecuda/cudnn/library_process.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <spawn.h>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "tools/record/fakecuda/cudnn/channel.hpp"

namespace highwater::fakecuda {
namespace {

/// Without what leads the loader to the fake libraries, or would load more into the program.
std::vector<char*> environment_of_program() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (std::strncmp(*entry, "LD_", 3) != 0) {
      kept.push_back(*entry);
    }
  }
  kept.push_back(nullptr);
  return kept;
}

/// The program leaves its first process at once (cudnn_library/main.cpp): nothing is left to wait
/// for.
bool spawn(const LibraryFiles& files, const std::string& gpu, int socket) {
  std::array<std::string, 4> words{files.program, files.cudnn, files.nvrtc, gpu};
  std::array<char*, 5> arguments{words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                                 nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  pid_t child = 0;
  const int error = posix_spawn(&child, words[0].c_str(), &actions, nullptr, arguments.data(),
                                environment_of_program().data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return false;
  }
  int status = 0;
  while (waitpid(child, &status, 0) == -1 && errno == EINTR) {
  }
  return true;
}

}  // namespace

LibraryProcess::~LibraryProcess() {
  stop();
}

std::optional<wire::Greeting> LibraryProcess::start(const LibraryFiles& files,
                                                    const std::string& gpu) {
  stop();
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return std::nullopt;
  }
  socket_ = ends[0];
  const bool has_started = spawn(files, gpu, ends[1]);
  close(ends[1]);
  const auto message = has_started ? wire::receive_message(socket_) : std::nullopt;
  const auto greeting = message ? wire::greeting_in(*message) : std::nullopt;
  if (!greeting) {
    stop();
  }
  return greeting;
}

std::optional<wire::Answer> LibraryProcess::ask(std::string_view question) {
  if (socket_ == -1 || !wire::send_message(socket_, question)) {
    return std::nullopt;
  }
  const auto message = wire::receive_message(socket_);
  return message ? wire::answer_in(*message) : std::nullopt;
}

void LibraryProcess::stop() {
  if (socket_ != -1) {
    close(socket_);
    socket_ = -1;
  }
}

}  // namespace highwater::fakecuda
