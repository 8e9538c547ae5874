// What a backward pass of a step does besides computing gradients, for all that exchanges them.
#pragma once

#include <cstdint>

namespace highwater {

/// Where a backward pass is in its step.
enum class BackwardPass : std::uint8_t {
  earlier,
  last  ///< the optimizer steps after it: DeepSpeed's accumulation boundary
};

/// Whether ranks exchange gradients: no_sync(), set_requires_gradient_sync().
enum class GradientSync : std::uint8_t { off, on };

/// Whether gathered parameters are freed once they have been used: set_reshard_after_forward(),
/// set_reshard_after_backward().
enum class AfterUse : std::uint8_t { keep, reshard };

constexpr BackwardPass last_if(bool condition) {
  return condition ? BackwardPass::last : BackwardPass::earlier;
}

constexpr GradientSync sync_if(bool condition) {
  return condition ? GradientSync::on : GradientSync::off;
}

constexpr AfterUse reshard_if(bool condition) {
  return condition ? AfterUse::reshard : AfterUse::keep;
}

}  // namespace highwater
