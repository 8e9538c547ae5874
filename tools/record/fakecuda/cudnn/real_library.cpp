#include "tools/record/fakecuda/cudnn/real_library.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <unistd.h>

#include "tools/record/fakecuda/core/lock.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/cudnn/gpu_json.hpp"
#include "tools/record/fakecuda/cudnn/kept_answers.hpp"
#include "tools/record/fakecuda/cudnn/library_process.hpp"

namespace highwater::fakecuda {
namespace {

// A library that has crashed so often will crash again.
constexpr int kMostEnds = 3;

/// Whether a GPU of that kind would get the same status (cudnn_graph.h, cudnnStatus_t): success, a
/// bad parameter, not supported. Not what is missing on this machine (driver, runtime,
/// prerequisites, sublibraries), nor internal errors (a compiler that fails, no memory).
bool is_of_gpu(int status) {
  constexpr std::array kOfThisMachine{3005, 3006, 3008, 3009};
  return status == 0 || (status >= 2000 && status < 4000 &&
                         std::ranges::find(kOfThisMachine, status) == kOfThisMachine.end());
}

/// @pre hold_state() for all functions
class RealLibrary {
 public:
  RealLibrary() : gpu_(gpu_json()) { state_.is_named = !settings().cudnn_library.empty(); }

  const LibraryState& state() {
    start();
    return state_;
  }

  std::optional<wire::Answer> ask(const std::string& question) {
    start();
    if (!state_.problem.empty() || !state_.is_named) {
      return std::nullopt;
    }
    const std::string key = gpu_ + question;
    if (auto kept = kept_.find(key)) {
      return kept;
    }
    auto answer = process_->ask(question);
    if (!answer) {
      note_end();
    } else if (is_of_gpu(answer->status)) {
      kept_.keep(key, *answer);
    } else {
      answer.reset();
    }
    return answer;
  }

  /// Of the process that made it: a fork must not speak into its parent's socket.
  [[nodiscard]] bool is_own() const { return owner_ == getpid(); }

 private:
  void start() {
    if (process_ != nullptr || !state_.is_named || !state_.problem.empty()) {
      return;
    }
    process_ = std::make_unique<LibraryProcess>();
    const auto greeting = process_->start(
        {settings().cudnn_program, settings().cudnn_library, settings().cudnn_compiler}, gpu_);
    if (!greeting) {
      state_.problem =
          "the process that loads it ended, or was still waiting for it after two minutes";
      return;
    }
    state_.version = greeting->cudnn;
    state_.compiler = greeting->compiler;
    state_.problem = greeting->problem;
    if (ends_ == 0 && state_.problem.empty()) {
      kept_ = KeptAnswers(kept_file());
    }
  }

  [[nodiscard]] std::string kept_file() const {
    return settings().cudnn_cache.empty()
               ? ""
               : settings().cudnn_cache + "/cudnn-" + std::to_string(state_.version) + "-nvrtc-" +
                     (state_.compiler.empty() ? "none" : state_.compiler) + "-" +
                     std::to_string(wire::kVersion) + ".txt";
  }

  void note_end() {
    process_.reset();
    if (++ends_ == kMostEnds) {
      state_.problem = "it crashed or hung " + std::to_string(ends_) + " times";
    }
  }

  const pid_t owner_ = getpid();
  const std::string gpu_;
  LibraryState state_;
  std::unique_ptr<LibraryProcess> process_;
  KeptAnswers kept_;
  int ends_ = 0;
};

// Never freed: calls may come after exit() has begun.
RealLibrary& real_library() {
  static RealLibrary* library = new RealLibrary;
  if (!library->is_own()) {
    library = new RealLibrary;
  }
  return *library;
}

}  // namespace

std::optional<wire::Answer> ask_library(const std::string& question) {
  const auto hold = hold_state();
  return real_library().ask(question);
}

int library_version() {
  return static_cast<int>(library_state().version);
}

LibraryState library_state() {
  const auto hold = hold_state();
  return real_library().state();
}

}  // namespace highwater::fakecuda
