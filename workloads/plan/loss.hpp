// How the loss is computed, and whether logits exist.
#pragma once

#include <cstdint>

namespace highwater {

enum class LossKind : std::uint8_t {
  hf,       ///< labels are passed to the model: transformers' own loss, as in the version profile
  shift,    ///< cross entropy outside, logits sliced and made contiguous (the older HF way)
  flat,     ///< cross entropy outside, without the shift
  chunked,  ///< head and cross entropy over `chunks` parts of the sequence (torchtune, torchtitan)
  fused,    ///< head and loss in one function, no logits kept (Liger)
  trl,      ///< log-probabilities from hidden states, tile by tile; no logits (SFTTrainer)
  /// Between the mean states of two texts that are encoded one after the other, each against all
  /// others of the batch (sentence-transformers' MultipleNegativesRankingLoss).
  contrastive
};

struct Loss {
  LossKind kind = LossKind::hf;
  int chunks = 8;        ///< of chunked
  double smoothing = 0;  ///< of labels, by transformers' Trainer, which computes the loss then
};

/// Whether the function that applies the head also computes the loss, so that logits never exist.
constexpr bool fuses_head(LossKind kind) {
  return kind == LossKind::fused || kind == LossKind::trl;
}

}  // namespace highwater
