// The head and the loss, part by part of the sequence, with the backward of each part at once.
//
// Source: torchtitan 0.3, components/loss.py (ChunkedLossWrapper, GradAccumulator,
// CrossEntropyLoss). Only one part's logits exist at a time. Gradients of the head's weight add up
// in the type of fully_shard's reduction and are reduced after the last part; those of the hidden
// states add up in fp32. The loss that is returned passes the latter on to the decoder.
#pragma once

#include "workloads/nn/layers.hpp"
#include "workloads/torchtitan/sequence_parallel.hpp"

namespace highwater::torchtitan {

struct LossInputs {
  eager::Tensor labels;
  eager::Tensor positions;
  eager::Tensor valid_tokens;      ///< of all ranks
  SequenceRanks* ranks = nullptr;  ///< each has its words' logits; null: they are whole
};

eager::Tensor chunked_loss(const eager::Tensor& hidden_states, const nn::Linear& head,
                           const LossInputs& inputs, std::int64_t chunks);

}  // namespace highwater::torchtitan
