// Model states per GPU as the ZeRO paper counts them.
#pragma once

#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

/// What the ranks share: nothing; optimizer states; gradients too; weights too.
enum class ZeroStage : std::uint8_t { replicated, one, two, three };

/// Bytes of optimizer per parameter in mixed-precision Adam: fp32 weights and two moments.
inline constexpr double kZeroAdamBytes = 12;

/// Bytes for `parameters` (P) on each of `ranks` (N): 2 P of weights, 2 P of gradients and K P of
/// optimizer states, each divided by N once it is shared. Source: Rajbhandari et al., "ZeRO: Memory
/// Optimizations Toward Training Trillion Parameter Models", section 5 and figure 1.
Estimate zero_paper(double parameters, double ranks, ZeroStage stage, double k = kZeroAdamBytes);

extern const Formula kZeroPaper;

}  // namespace highwater
