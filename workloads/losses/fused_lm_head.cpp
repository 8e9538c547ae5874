#include "workloads/losses/fused_lm_head.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "workloads/eager/autocast.hpp"
#include "workloads/eager/node.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::losses {

using eager::Dims;
using eager::Node;
using eager::Runtime;
using eager::Tensor;
using eager::TensorList;

namespace {

constexpr std::int64_t kTokens = 4096;       // TOKEN_CHUNK_SIZE
constexpr std::int64_t kVocabulary = 32768;  // _CHUNKED_LOGPROB_CHUNK_SIZE

Tensor zeros(Runtime& runtime, const Dims& sizes, DType dtype) {
  const eager::OpScope op(runtime, "zeros");
  return eager::empty(runtime, sizes, dtype);
}

Tensor rows(const Tensor& matrix, std::int64_t start, std::int64_t count, DType dtype) {
  const std::int64_t end = std::min(start + count, matrix.size(0));
  return eager::to_dtype(eager::slice(matrix, 0, start, end), dtype);
}

// What the loops over tokens and words multiply, and in which type.
struct Tiles {
  Tensor hidden;
  Tensor weight;
  DType dtype;
};

Tensor tile_buffer(const Tiles& tiles) {
  return eager::empty(tiles.hidden.runtime(),
                      {std::min(tiles.hidden.size(0), kTokens), kVocabulary}, tiles.dtype);
}

/// What the forward leaves.
struct Folded {
  Tensor log_probs;
  Tensor entropy;
  Tensor is_top1;
  Tensor log_z;
};

void fold_tiles(const Tiles& tiles, const Tensor& buffer, Tensor& hidden_chunk) {
  Runtime& runtime = buffer.runtime();
  for (std::int64_t token = 0; token < tiles.hidden.size(0); token += kTokens) {
    hidden_chunk = rows(tiles.hidden, token, kTokens, tiles.dtype);
    for (std::int64_t word = 0; word < tiles.weight.size(0); word += kVocabulary) {
      eager::mm_into(hidden_chunk, eager::t(rows(tiles.weight, word, kVocabulary, tiles.dtype)));
      runtime.launch(1);
    }
  }
}

Tensor top1(const Tensor& target_logit, const Tensor& running_max, const Tensor& before_target) {
  Tensor highest = eager::compare("ge", {target_logit, running_max});
  Tensor first = eager::compare("gt", {target_logit, before_target});
  return eager::compare("and", {highest, first});
}

// ChunkedLogProbFunction.forward with the outputs that SFTTrainer asks for.
Folded fold(const Tiles& tiles) {
  Runtime& runtime = tiles.hidden.runtime();
  const Dims tokens{tiles.hidden.size(0)};
  const auto running = [&] { return zeros(runtime, tokens, DType::fp32); };
  Tensor running_max = running();
  Tensor sum_exp = running();
  Tensor x_sum_exp = running();
  Tensor sq_sum_exp = running();
  Tensor z_sum = running();
  Tensor max_before_target = running();
  Tensor target_logit = running();
  Tensor mm_buf = tile_buffer(tiles);
  Tensor hidden_chunk;
  fold_tiles(tiles, mm_buf, hidden_chunk);
  Folded out;
  {
    const Tensor log_sum = eager::pointwise("log", {sum_exp}, DType::fp32);
    out.log_z = eager::add(running_max, log_sum);
  }
  out.log_probs = eager::sub(target_logit, out.log_z);
  {
    const Tensor ratio = eager::div(x_sum_exp, sum_exp);
    out.entropy = eager::sub(out.log_z, ratio);
  }
  out.is_top1 = top1(target_logit, running_max, max_before_target);
  eager::end_of_frame(running_max, sum_exp, x_sum_exp, sq_sum_exp, z_sum, max_before_target,
                      target_logit, hidden_chunk, mm_buf);
  return out;
}

// Gradients that are wanted, in fp32, whatever the types of the operands.
struct Gradients {
  Tensor hidden;
  Tensor weight;
};

void add_tile_gradients(const Gradients& gradients, const Tensor& tile, const Tensor& w_chunk,
                        const Tensor& hidden_chunk) {
  if (gradients.hidden.defined()) {
    eager::mm_into(tile, w_chunk);
  }
  if (gradients.weight.defined()) {
    eager::mm_into(eager::t(tile), hidden_chunk);
  }
}

Tensor tile_of(const Tensor& buffer, std::int64_t tokens, std::int64_t words) {
  return eager::slice(eager::slice(buffer, 0, 0, tokens), 1, 0, words);
}

void fold_back(const Tiles& tiles, const Tensor& buffer, const Gradients& gradients,
               Tensor& hidden_chunk, Tensor& w_chunk) {
  for (std::int64_t token = 0; token < tiles.hidden.size(0); token += kTokens) {
    hidden_chunk = rows(tiles.hidden, token, kTokens, tiles.dtype);
    for (std::int64_t word = 0; word < tiles.weight.size(0); word += kVocabulary) {
      w_chunk = rows(tiles.weight, word, kVocabulary, tiles.dtype);
      eager::mm_into(hidden_chunk, eager::t(w_chunk));
      buffer.runtime().launch(1);
      add_tile_gradients(gradients, tile_of(buffer, hidden_chunk.size(0), w_chunk.size(0)), w_chunk,
                         hidden_chunk);
    }
  }
}

Tensor narrowed(const Tensor& gradient, const Tensor& like) {
  return gradient.defined() ? eager::to_dtype(gradient, like.dtype()) : Tensor{};
}

// ChunkedLogProbFunction.backward.
TensorList fold_backward(Node& node, DType dtype) {
  Runtime& runtime = *node.runtime;
  const eager::OpScope op(runtime, "ChunkedLogProbFunctionBackward");
  const Tiles tiles{.hidden = node.unpack(0), .weight = node.unpack(1), .dtype = dtype};
  Gradients gradients;
  if (node.needs(0)) {
    gradients.hidden = zeros(runtime, tiles.hidden.sizes(), DType::fp32);
  }
  if (node.needs(1)) {
    gradients.weight = zeros(runtime, tiles.weight.sizes(), DType::fp32);
  }
  Tensor mm_buf = tile_buffer(tiles);
  Tensor hidden_chunk;
  Tensor w_chunk;
  fold_back(tiles, mm_buf, gradients, hidden_chunk, w_chunk);
  TensorList result{narrowed(gradients.hidden, tiles.hidden),
                    narrowed(gradients.weight, tiles.weight)};
  eager::end_of_frame(gradients.hidden, gradients.weight, hidden_chunk, w_chunk, mm_buf);
  return result;
}

// ChunkedLogProbFunction.apply.
Folded token_log_probs(const Tensor& hidden, const Tensor& weight, const Tensor& targets) {
  Runtime& runtime = hidden.runtime();
  const DType dtype = runtime.autocast.enabled ? runtime.autocast.dtype : hidden.dtype();
  const auto node = eager::begin_node(runtime, "ChunkedLogProbFunctionBackward", {hidden, weight});
  Folded folded;
  {
    const eager::NoGrad no_grad(runtime);
    const eager::OpScope op(runtime, "ChunkedLogProbFunction");
    folded = fold({.hidden = hidden, .weight = weight, .dtype = dtype});
  }
  eager::finish_node(node, folded.log_probs,
                     [dtype](Node& own, TensorList&) { return fold_backward(own, dtype); });
  if (node) {
    node->add_output(folded.entropy);
    node->save(hidden);
    node->save(weight);
    node->save(targets);
    node->save(folded.log_z);
    node->save_output(folded.entropy);
  }
  return folded;
}

Tensor spread(const Tensor& mask, const Tensor& values) {
  return eager::masked_scatter(zeros(mask.runtime(), mask.sizes(), values.dtype()), mask, values);
}

// The mean over all labels, [] fp32.
Tensor mean_loss(const Tensor& log_probs, const Tensor& mask) {
  Tensor negative = eager::neg(eager::sum(log_probs, {}, eager::KeepDim::no));
  Tensor count;
  {
    const Tensor labels = eager::sum(mask, {}, eager::KeepDim::no, DType::int64);
    count = eager::pointwise("clamp", {labels}, DType::int64);
  }
  return eager::div(negative, count);
}

// gather_for_metrics(values.sum()).sum()
Tensor metric(const Tensor& values) {
  const Tensor own = eager::sum(values, {}, eager::KeepDim::no);
  return eager::sum(own, {}, eager::KeepDim::no);
}

}  // namespace

FusedOutput fused_lm_head(Tensor hidden_states, Tensor labels,
                          const std::function<Tensor()>& head_weight) {
  hidden_states = eager::slice(eager::slice(hidden_states, 0, 0, eager::kEnd), 1, 0, -1);
  labels = eager::slice(eager::slice(labels, 0, 0, eager::kEnd), 1, 1, eager::kEnd);
  Tensor mask = eager::compare("ne", {labels});
  Tensor weight = head_weight();
  Folded per_token = [&] {
    const Tensor scored = eager::index_by_mask(hidden_states, mask);
    const Tensor targets = eager::index_by_mask(labels, mask);
    return token_log_probs(scored, weight, targets);
  }();
  FusedOutput out;
  per_token.log_z.reset();
  out.scores.log_probs = spread(mask, per_token.log_probs);
  out.scores.entropy = spread(mask, per_token.entropy);
  out.scores.is_top1 = spread(mask, per_token.is_top1);
  eager::end_of_frame(per_token.log_probs, per_token.entropy, per_token.is_top1);
  out.loss = mean_loss(out.scores.log_probs, mask);
  out.scores.label_mask = std::move(mask);
  eager::end_of_frame(hidden_states, labels, weight);
  return out;
}

Tensor sft_loss(const TokenScores& scores, const Tensor& count) {
  Tensor per_token_loss = eager::neg(scores.log_probs);
  Tensor loss;
  {
    const Tensor total = eager::sum(per_token_loss, {}, eager::KeepDim::no);
    const Tensor counted = eager::pointwise("clamp", {count}, count.dtype());
    loss = eager::div(total, counted);
  }
  loss = eager::mul(loss, 1.0);
  {
    const eager::NoGrad no_grad(loss.runtime());
    const Tensor num_valid = metric(scores.label_mask);
    const Tensor entropy_sum = metric(scores.entropy);
    const Tensor num_correct = metric(scores.is_top1);
    eager::div(entropy_sum, num_valid);
    eager::div(num_correct, num_valid);
    loss.runtime().synchronize();  // the host reads them
  }
  per_token_loss.reset();
  return loss;
}

}  // namespace highwater::losses
