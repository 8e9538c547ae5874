// Why keys of training programs do not move memory, where a reader says so: the words that several
// programs share, as in workloads/facts/programs.
#pragma once

#include <string_view>

namespace highwater::program_table::reasons {

inline constexpr std::string_view kFiles = "files of checkpoints; no GPU memory";
inline constexpr std::string_view kNames = "names and paths only";
inline constexpr std::string_view kData = "reading of data; host memory only";
inline constexpr std::string_view kInference = "read for inference only";

}  // namespace highwater::program_table::reasons
