// What NVIDIA's own cuDNN answers about descriptors: from this process's memory, from disk, or from
// the program that holds it. FAKE_CUDNN_LIBRARY names the library; without it nobody answers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/record/fakecuda/cudnn/wire.hpp"

namespace highwater::fakecuda {

/// The answer to a question of wire.hpp; nothing if the library is missing, cannot be asked without
/// a GPU, ended before it answered, or failed for reasons of this machine.
std::optional<wire::Answer> ask_library(const std::string& question);

/// cudnnGetVersion() of the library, 0 without one.
int library_version();

/// What a recording says of the library.
struct LibraryState {
  bool is_named = false;     ///< there is one to be asked
  std::int64_t version = 0;  ///< its own
  std::string compiler;      ///< NVRTC's release, empty without one
  std::string problem;       ///< why it is not asked, or empty
};

LibraryState library_state();

}  // namespace highwater::fakecuda
