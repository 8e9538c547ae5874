// The versions that the fake libraries report: those of the newest libraries that PyTorch wheels of
// the major were built with, so that no wheel finds an older one than it wants.
#pragma once

#include "tools/record/fakecuda/abi/runtime.hpp"

namespace highwater::fakecuda {

#if FAKECUDA_MAJOR >= 13
constexpr int kRuntimeVersion = 13020;
constexpr int kDriverVersion = 13020;
constexpr int kCublasVersion = 130401;  // 13.4.1, of toolkit 13.2.2
constexpr int kCudnnVersion = 92600;    // 9.26.0
constexpr int kNcclVersion = 23007;     // 2.30.7
#else
constexpr int kRuntimeVersion = 12080;
constexpr int kDriverVersion = 12080;
constexpr int kCublasVersion = 120804;  // 12.8.4
constexpr int kCudnnVersion = 91002;    // 9.10.2
constexpr int kNcclVersion = 22705;     // 2.27.5
#endif

}  // namespace highwater::fakecuda
