// Programs that were given to NVRTC while the application runs. Nothing is compiled for launching
// them, but they are kept, so that what depends on a compiled kernel can be learnt when somebody
// asks for it (kernel_resources.hpp).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace highwater::fakecuda {

struct RuntimeProgram {
  std::string source, file;
  std::vector<std::pair<std::string, std::string>> headers;  ///< name and text
  std::vector<std::string> options;
  std::vector<std::string> expressions;  ///< names of kernels as the source writes them
};

/// The room that an image takes.
constexpr std::size_t kImageSize = 48;

/// What stands for the compiled program: text, with the zero at its end at most kImageSize bytes.
std::string keep_program(RuntimeProgram program);

/// The program of an image that a module is loaded from; nothing for any other image.
std::shared_ptr<const RuntimeProgram> program_of(const void* image);

}  // namespace highwater::fakecuda
