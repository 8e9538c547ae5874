// The loss of transformers' Trainer with label_smoothing_factor: computed outside of the model,
// from log-probabilities of the whole vocabulary.
//
// Source: transformers 5.24, trainer_pt_utils.py LabelSmoother.
#pragma once

#include <cstdint>

#include "workloads/eager/tensor.hpp"

namespace highwater::losses {

/// Whether labels stand one place after what predicts them.
enum class LabelShift : std::uint8_t { none, by_one };

/// LabelSmoother.__call__; `label_count` is num_items_in_batch.
eager::Tensor smoothed_loss(eager::Tensor logits, eager::Tensor labels,
                            const eager::Tensor& label_count, LabelShift shift);

}  // namespace highwater::losses
