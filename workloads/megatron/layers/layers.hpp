// Megatron-Core's split layers (core/tensor_parallel/layers.py, 0.16.1).
#pragma once

#include <cstdint>

#include "workloads/megatron/layers/tensor_parallel.hpp"
#include "workloads/nn/layers.hpp"
#include "workloads/nn/module.hpp"

namespace highwater::megatron {

/// A layer's result and the bias that the caller adds (skip_bias_add); the bias is undefined if
/// there is none.
struct WithBias {
  Tensor output;
  Tensor bias;
};

/// ColumnParallelLinear without gathering: every rank has out / size columns of the result.
class ColumnParallelLinear : public nn::Module {
 public:
  enum class Bias : std::uint8_t { none, added, skipped };

  ColumnParallelLinear(nn::Module* parent, std::string name, TensorParallel& tp, std::int64_t in,
                       std::int64_t out, Bias bias);

  /// With a given `weight`: a tied head, which has none of its own.
  struct SharedWeight {
    Tensor weight;
  };

  ColumnParallelLinear(nn::Module* parent, std::string name, TensorParallel& tp,
                       SharedWeight shared);

  WithBias operator()(Tensor input) const;

 private:
  TensorParallel& tp_;
  Bias bias_kind_ = Bias::none;
  Tensor weight_;
  Tensor bias_;
};

/// RowParallelLinear of split input; its bias is always the caller's to add.
class RowParallelLinear : public nn::Module {
 public:
  RowParallelLinear(nn::Module* parent, std::string name, TensorParallel& tp, std::int64_t in,
                    std::int64_t out, nn::Bias bias);

  WithBias operator()(Tensor input) const;

  /// The bias, whose gradient sequence parallelism leaves partial on every rank.
  [[nodiscard]] const Tensor& bias() const { return bias_; }

 private:
  TensorParallel& tp_;
  Tensor weight_;
  Tensor bias_;
};

/// A linear layer without collectives around it, as an expert's are (explicit_expert_comm).
Tensor local_linear(TensorParallel& tp, const Tensor& input, const Tensor& weight);

/// The sum of the ranks' rows: whole is [b, s, h], reduce-scattered [s / size, b, h].
enum class EmbeddingSum : std::uint8_t { whole, scattered };

class VocabParallelEmbedding : public nn::Module {
 public:
  VocabParallelEmbedding(nn::Module* parent, std::string name, TensorParallel& tp,
                         std::int64_t rows, std::int64_t width, EmbeddingSum sum);

  Tensor operator()(const Tensor& ids) const;

  [[nodiscard]] const Tensor& weight() const { return weight_; }

 private:
  [[nodiscard]] Tensor masked(const Tensor& ids, const Tensor& mask) const;

  TensorParallel& tp_;
  EmbeddingSum sum_;
  Tensor weight_;
};

/// vocab_parallel_cross_entropy of [s, b, v / size] logits and [s, b] labels: [s, b] fp32 losses.
/// Source: core/tensor_parallel/cross_entropy.py.
Tensor vocab_parallel_cross_entropy(TensorParallel& tp, const Tensor& logits, const Tensor& labels);

}  // namespace highwater::megatron
