// TRL's fused head: log-probabilities of the labels from hidden states, without logits.
//
// Source: TRL 1.16, trainer/utils.py (add_fused_lm_head), kernels/chunked_logprob.py
// (ChunkedLogProbFunction), trainer/sft_trainer.py (compute_loss). The head is applied in tiles of
// 4096 tokens by 32768 words, which share one buffer; the backward computes each tile again and
// adds to gradients in fp32. Triton kernels fold the tiles and allocate nothing. Every label
// counts.
#pragma once

#include <functional>

#include "workloads/eager/ops.hpp"

namespace highwater::losses {

/// FusedCausalLMOutput: one value for each label, [batch, seq - 1].
struct TokenScores {
  eager::Tensor log_probs;
  eager::Tensor entropy;
  eager::Tensor is_top1;
  eager::Tensor label_mask;
};

struct FusedOutput {
  eager::Tensor loss;  ///< the mean, which SFTTrainer does not use
  TokenScores scores;
};

/// The patched forward behind the decoder; `head_weight` gives the head's, which is gathered there.
FusedOutput fused_lm_head(eager::Tensor hidden_states, eager::Tensor labels,
                          const std::function<eager::Tensor()>& head_weight);

/// SFTTrainer.compute_loss behind the model: the loss of `count` labels, and sums for its metrics.
eager::Tensor sft_loss(const TokenScores& scores, const eager::Tensor& count);

}  // namespace highwater::losses
