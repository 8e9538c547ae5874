// What a release of transformers does differently, as data: one row per family and change.
//
// Read from the wheels of 4.29.2, 4.30.2, 4.31.0, 4.44.2 to 4.50.3, 4.53.3, 4.57.1, 5.0.0 and
// 5.12.1. Only what follows the decoder (head and loss) depends on the release; the decoders and
// their masks are those of 5.12. Differences between PyTorch releases are checked where they matter
// (cuBLAS workspaces, foreach lists, attention kernels).
#pragma once

#include <cstdint>

#include "workloads/plan/training_plan.hpp"

namespace highwater {

/// Where a model class converts its logits to fp32 before the loss sees them.
enum class LogitsUpcast : std::uint8_t {
  never,
  head,        ///< at once: the logits of the output are fp32 as well
  around_loss  ///< for the loss; the logits of the output are cast back
};

/// How logits and labels are brought together.
enum class LossShift : std::uint8_t {
  logits,  ///< logits[..., :-1, :].contiguous(): another copy of them
  labels   ///< labels are padded by one and shifted
};

struct VersionProfile {
  /// The head sees hidden_states[:, slice, :], whose backward makes zero-filled tensors.
  bool slices_hidden_states = true;
  LogitsUpcast upcast = LogitsUpcast::never;
  /// The loss is ForCausalLMLoss, which converts the logits to fp32 itself.
  bool has_loss_function = true;
  LossShift shift = LossShift::labels;
  /// loss.to(hidden_states.dtype)
  bool casts_loss_back = false;

  bool operator==(const VersionProfile&) const = default;
};

/// The profile of the plan's family at its release of transformers.
VersionProfile version_profile(const TrainingPlan& plan);

}  // namespace highwater
