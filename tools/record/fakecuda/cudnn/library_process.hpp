// The program that holds the real cuDNN (cudnn_library/), as seen by the process that asks it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/record/fakecuda/cudnn/wire.hpp"

namespace highwater::fakecuda {

/// What the program is started with.
struct LibraryFiles {
  std::string program;
  std::string cudnn;  ///< libcudnn.so.9
  std::string nvrtc;  ///< libnvrtc.so.N, or empty
};

class LibraryProcess {
 public:
  LibraryProcess() = default;
  LibraryProcess(const LibraryProcess&) = delete;
  LibraryProcess& operator=(const LibraryProcess&) = delete;
  ~LibraryProcess();

  /// What the program says of itself, nothing if it does not come up.
  std::optional<wire::Greeting> start(const LibraryFiles& files, const std::string& gpu);

  /// Nothing if the program is gone, or went during this question.
  std::optional<wire::Answer> ask(std::string_view question);

  void stop();

 private:
  int socket_ = -1;
};

}  // namespace highwater::fakecuda
