#include "workloads/step_time/layer_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "workloads/plan/training_plan.hpp"

namespace highwater::timing {
namespace {

// The largest tile of cuBLAS's kernels, and the next (the guide's table of tile sizes).
constexpr double kTileRows = 128;
constexpr std::array kTileColumns{256.0, 128.0};

/// Share of the products' rate that fused attention reaches, forward and backward together: 50 to
/// 73 % on A100 (FlashAttention-2, arXiv 2307.08691, abstract), up to 75 % forward on H100
/// (FlashAttention-3, arXiv 2407.08608, abstract) and less backward.
constexpr double kAttentionShare = 0.6;

/// Backward computes the scores again and four products beside (FlashAttention-2, section 2.3).
constexpr double kAttentionBackward = 2.5;

/// Kernels that read or write the [s, s] scores of attention that is not fused: the product, the
/// softmax (read, write), dropout (read, write), the second product; and twice that backward.
constexpr double kScorePasses = 6;

// Tensors of a layer's hidden size that kernels between the products read or write: two norms (one
// each way) and two sums with the residual (two operands and a result).
constexpr double kHiddenPasses = 10;

/// Bytes per logit of the loss: read in 16 bits, written and read in fp32 by the log-softmax.
constexpr double kLossBytes = 10;

Product weights_gradient(const Product& p) {
  return {p.depth, p.columns, p.rows};
}

Product input_gradient(const Product& p) {
  return {p.rows, p.depth, p.columns};
}

ProductTime time_of(const Product& product, const Share& share, const Rates& rates) {
  return {.forward = seconds_of(product, rates),
          .input = seconds_of(input_gradient(product), rates),
          .weights = share.trains_weights ? seconds_of(weights_gradient(product), rates) : 0};
}

ProductTime operator*(double times, const ProductTime& product) {
  return {times * product.forward, times * product.input, times * product.weights};
}

LayerProducts layer_products(const LayerSizes& s, const Share& share, const Rates& rates) {
  const auto hidden = static_cast<double>(s.hidden);
  const auto queries = static_cast<double>(s.queries) / share.tp;
  const auto keys = static_cast<double>(s.keys) / share.tp;
  const double ffn = static_cast<double>(s.ffn) / share.etp;
  const double local = static_cast<double>(s.experts) / share.ep;
  const double tokens = share.tokens * share.etp / share.tp;  // a rank of tp has its part of them
  const double routed = tokens * static_cast<double>(s.chosen) / local;
  const auto inputs = static_cast<double>(s.ffn_inputs);
  const auto time = [&](const Product& product, double times) {
    return s.stretch * times * time_of(product, share, rates);
  };
  return {.into_attention = time({share.tokens, queries + 2 * keys, hidden}, 1),
          .out_of_attention = time({share.tokens, hidden, queries}, 1),
          .into_mlp = time({routed, inputs * ffn, hidden}, local),
          .out_of_mlp = time({routed, hidden, ffn}, local)};
}

/// Of all four.
ProductTime sum_of(const LayerProducts& products) {
  ProductTime sum;
  for (const ProductTime& each : {products.into_attention, products.out_of_attention,
                                  products.into_mlp, products.out_of_mlp}) {
    sum.forward += each.forward;
    sum.input += each.input;
    sum.weights += each.weights;
  }
  return sum;
}

double forward_attention(const LayerSizes& s, const Share& share, const Rates& rates) {
  const double queries = static_cast<double>(s.queries) / share.tp;
  const double fused =
      2 * share.tokens * share.sequence * queries / (rates.attention_share * rates.operations);
  if (share.fuses_attention) {
    return fused;
  }
  const double scores = static_cast<double>(s.heads) / share.tp * share.tokens * share.sequence;
  return fused + kScorePasses * scores * rates.element / rates.memory;
}

double forward_elementwise(const LayerSizes& s, const Share& share, const Rates& rates) {
  const double split = share.splits_norms ? share.tp : 1;
  const double rotary = 2 * static_cast<double>(s.queries + s.keys) / share.tp;
  const double activation = static_cast<double>((s.ffn_inputs + 1) * s.ffn * s.chosen) / share.tp;
  const double per_token =
      kHiddenPasses * static_cast<double>(s.hidden) / split + rotary + activation;
  return share.tokens * per_token * rates.element / rates.memory;
}

}  // namespace

Rates rates_of(const TrainingPlan& plan, const Machine& machine) {
  const bool is_half = plan.precision != Precision::fp32 || plan.parallel.fsdp.param_dtype;
  return {.operations = is_half ? machine.half_operations : machine.full_operations,
          .memory = machine.memory,
          .element = is_half ? 2.0 : 4.0,
          .attention_share = kAttentionShare,
          .multiprocessors = machine.multiprocessors};
}

double seconds_of(const Product& p, const Rates& rates) {
  const double per_processor = rates.operations / rates.multiprocessors;
  double fastest = HUGE_VAL;
  for (const double tile_columns : kTileColumns) {
    const double tiles = std::ceil(p.rows / kTileRows) * std::ceil(p.columns / tile_columns);
    const double waves = std::ceil(tiles / rates.multiprocessors);
    fastest = std::min(fastest, waves * 2 * kTileRows * tile_columns * p.depth / per_processor);
  }
  const double bytes =
      rates.element * (p.rows * p.depth + p.depth * p.columns + p.rows * p.columns);
  return std::max(fastest, bytes / rates.memory);
}

LayerTime layer_time(const LayerSizes& sizes, const Share& share, const Rates& rates) {
  const double attention = forward_attention(sizes, share, rates);
  const double elementwise = forward_elementwise(sizes, share, rates);
  const LayerProducts products = layer_products(sizes, share, rates);
  const ProductTime sum = sum_of(products);
  return {.forward = {sum.forward, attention, elementwise},
          .backward = {sum.input + sum.weights, kAttentionBackward * attention, 2 * elementwise},
          .products = products};
}

LayerTime head_time(const LayerSizes& sizes, const Share& share, const Rates& rates) {
  const double columns = static_cast<double>(sizes.vocab) / share.tp;
  const Product logits{share.tokens, columns, static_cast<double>(sizes.hidden)};
  const double loss = kLossBytes * share.tokens * columns / rates.memory;
  const ProductTime time = time_of(logits, share, rates);
  return {.forward = {time.forward, 0, loss}, .backward = {time.input + time.weights, 0, loss}};
}

}  // namespace highwater::timing
