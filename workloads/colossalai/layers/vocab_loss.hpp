// Cross entropy of logits whose words are spread over a group of ranks.
//
// Source: Colossal-AI 0.5, legacy/nn/loss/loss_{2d,2p5d,3d}.py (_VocabParallelCrossEntropy*):
// probabilities are kept and become the gradient in place.
#pragma once

#include "workloads/colossalai/layers/collectives.hpp"

namespace highwater::colossalai {

/// Where torch.arange() counts the rows that are picked: 2D and 2.5D name no device.
enum class RowNumbers : std::uint8_t { on_host, on_device };

/// One loss for each of the [rows] targets.
Tensor vocab_parallel_cross_entropy(const Tensor& logits, const Tensor& targets,
                                    ProcessGroup& words, RowNumbers numbers);

/// Which of `ids` another rank has, and the places of the others among this rank's rows.
struct OwnRows {
  Tensor mask;
  Tensor places;

  explicit OwnRows(const Tensor& ids);
};

}  // namespace highwater::colossalai
