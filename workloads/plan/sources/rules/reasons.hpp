// Why keys of training programs do not move memory: the words that several programs share.
#pragma once

#include <string_view>

namespace highwater::program_table::reasons {

inline constexpr std::string_view kReports = "logging and reports only";
inline constexpr std::string_view kFiles = "files of checkpoints; no GPU memory";
inline constexpr std::string_view kData = "reading of data; host memory only";
inline constexpr std::string_view kRate = "learning rate and schedule; no memory";
inline constexpr std::string_view kNumbers = "changes numbers, not sizes";
inline constexpr std::string_view kCollectives = "timeouts and traces of collectives";
inline constexpr std::string_view kHost = "works on the host only";
inline constexpr std::string_view kNames = "names and paths only";
inline constexpr std::string_view kSpeed = "changes speed, not memory";
inline constexpr std::string_view kDuration = "memory repeats after the first steps";
inline constexpr std::string_view kInModel = "part of --model";
inline constexpr std::string_view kEvaluation = "evaluation needs less than training";
inline constexpr std::string_view kInference = "read for inference only";

}  // namespace highwater::program_table::reasons
