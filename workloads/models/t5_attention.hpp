// T5's attention (transformers 5.12, models/t5/modeling_t5.py T5Attention): scores plus a position
// bias, which the first block of a stack makes and the others share. It is eager before 5.15; since
// then a function takes bias and mask apart, and it is SDPA's by default.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "workloads/models/attention.hpp"
#include "workloads/models/language_model.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/plan/model/families/t5.hpp"

namespace highwater::models {

/// What an attention or a block returns beside the hidden states.
struct T5Result {
  Tensor states;
  Tensor bias;
  Tensor weights;  ///< since 5.15, of eager attention
};

/// From here on attention is a function of its own, and results are unpacked into names.
inline constexpr Release kUnpacksResults{5, 15};

enum class T5Role : std::uint8_t { encoder, decoder };

class T5Attention : public Module {
 public:
  T5Attention(Module* parent, std::string name, const T5Config& config, T5Role role,
              nn::Bias relative_bias);

  /// `source` is what keys and values come from, undefined for the hidden states themselves.
  T5Result operator()(const Tensor& hidden_states, const Tensor& mask, const Tensor& source,
                      Tensor bias, const nn::CachePtr& cache) const;

 private:
  [[nodiscard]] Tensor heads(const Tensor& states) const;
  T5Result attended(Tensor& query, Tensor& key, Tensor& value, const Tensor& mask, Tensor bias,
                    const Tensor& source) const;
  [[nodiscard]] AttentionResult eager_scores(AttentionCall call) const;
  [[nodiscard]] Tensor make_bias(const Tensor& scores, const Tensor& mask) const;
  [[nodiscard]] Tensor zero_bias(const Tensor& like, std::int64_t keys) const;
  [[nodiscard]] Tensor computed_bias(std::int64_t queries, std::int64_t keys) const;
  [[nodiscard]] Tensor shifted_range(std::int64_t count) const;

  std::int64_t head_dim_;
  bool is_decoder_;
  double dropout_;
  nn::Linear q_;
  nn::Linear k_;
  nn::Linear v_;
  nn::Linear o_;
  std::unique_ptr<nn::Embedding> relative_attention_bias_;
};

}  // namespace highwater::models
