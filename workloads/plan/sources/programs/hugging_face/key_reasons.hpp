// Further reasons why keys do not move memory, which programs around transformers share.
#pragma once

#include "workloads/plan/sources/rules/reasons.hpp"

namespace highwater::program_table::reasons {

inline constexpr std::string_view kHub = "where results are published";
inline constexpr std::string_view kTokenizer = "text before it becomes tokens";
inline constexpr std::string_view kStart = "how processes find each other";
inline constexpr std::string_view kOtherDevice = "read on other devices than GPUs";
inline constexpr std::string_view kWithOther = "read with the key it belongs to";
inline constexpr std::string_view kAfter = "used after training";
inline constexpr std::string_view kCode = "which code is loaded, not sizes";

}  // namespace highwater::program_table::reasons
