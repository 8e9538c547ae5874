// Megatron-Core's split layers (core/tensor_parallel/layers.py, 0.16.1).
#pragma once

#include <cstdint>
#include <string>

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

/// Columns of a layer's input and of its result, of all ranks together.
struct LinearSize {
  std::int64_t in = 0;
  std::int64_t out = 0;
};

/// Whether a layer has a bias, and who adds it.
enum class SplitBias : std::uint8_t { none, added, skipped };

/// A linear layer of which every rank has a part.
class SplitLinear : public nn::Module {
 public:
  using Module::Module;

  virtual WithBias operator()(Tensor input) const = 0;
};

/// ColumnParallelLinear without gathering: every rank has out / size columns of the result.
class ColumnParallelLinear : public SplitLinear {
 public:
  ColumnParallelLinear(nn::Module* parent, std::string name, TensorParallel& tp, std::int64_t in,
                       std::int64_t out, SplitBias bias);

  /// With a given `weight`: a tied head, which has none of its own.
  struct SharedWeight {
    Tensor weight;
  };

  ColumnParallelLinear(nn::Module* parent, std::string name, TensorParallel& tp,
                       SharedWeight shared);

  WithBias operator()(Tensor input) const override;

 private:
  TensorParallel& tp_;
  SplitBias bias_kind_ = SplitBias::none;
  Tensor weight_;
  Tensor bias_;
};

/// RowParallelLinear of split input; its bias is always the caller's to add.
class RowParallelLinear : public SplitLinear {
 public:
  RowParallelLinear(nn::Module* parent, std::string name, TensorParallel& tp, std::int64_t in,
                    std::int64_t out, nn::Bias bias);

  WithBias operator()(Tensor input) const override;

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
