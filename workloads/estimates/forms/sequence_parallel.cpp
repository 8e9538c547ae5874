#include "workloads/estimates/forms/sequence_parallel.hpp"

#include <utility>

#include "workloads/estimates/terms/assumptions.hpp"
#include "workloads/plan/context_parallel.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr PartSet kStates{MemoryPart::parameters, MemoryPart::gradients,
                          MemoryPart::optimizer_states};
constexpr PartSet kKept{MemoryPart::activations};

// Whose columns of their tables a plan is.
BlockShare share_of(const EstimateInputs& inputs) {
  return runs_ring_self_attention(inputs.plan.parallel) ? BlockShare::tokens : BlockShare::weights;
}

SequenceBlock block_of(const EstimateInputs& inputs) {
  const Parallelism& p = inputs.plan.parallel;
  const ModelShape& shape = inputs.shape;
  return {.batch = static_cast<double>(inputs.plan.batch),
          .length = static_cast<double>(inputs.seq),
          .hidden = static_cast<double>(shape.hidden),
          .ranks = static_cast<double>(runs_ring_self_attention(p) ? p.cp : p.tp),
          .heads = static_cast<double>(shape.heads),
          .head_size = static_cast<double>(shape.head_dim)};
}

double item_bytes(const EstimateInputs& inputs) {
  return static_cast<double>(item_size(model_dtype(inputs.plan.precision)));
}

std::string refusal(const EstimateInputs& inputs) {
  const Parallelism& p = inputs.plan.parallel;
  const bool is_tensor_parallel = p.tp > 1 && p.tp_kind != TensorParallel::colossalai_2d &&
                                  p.tp_kind != TensorParallel::colossalai_2p5d &&
                                  p.tp_kind != TensorParallel::colossalai_3d;
  return first_refusal({refuse_without_training(inputs), refuse_encoders(inputs),
                        refuse_mixtures(inputs),
                        runs_ring_self_attention(p) != (is_tensor_parallel && p.cp == 1)
                            ? ""
                            : "it compares tensor parallelism with ring self-attention; add --tp, "
                              "or --cp with --cp-kind ring-self-attention"});
}

std::vector<std::string> broken_assumptions(const EstimateInputs& inputs) {
  return broken(
      {{inputs.shape.ffn == 4 * inputs.shape.hidden,
        "it assumes an MLP of two matrices, 4 times the hidden width"},
       {uses_adam(inputs), "it assumes Adam's two moments"},
       {trains_all(inputs), "it assumes that all parameters are trained"},
       {keeps_scores(inputs), "it assumes that attention's scores are kept"},
       {inputs.plan.checkpoint.kind == CheckpointKind::none,
        "it assumes that nothing is "
        "recomputed"},
       {!inputs.plan.parallel.sequence_parallel, "it assumes that norms see the whole sequence"}});
}

struct Equations {
  const char* mlp_states;
  const char* mlp_activations;
  const char* attention_states;
  const char* attention_activations;
};

constexpr Equations kSharedWeights{"n e 32 H^2 / N", "n e (4 B L H / N + B L H)",
                                   "n e 16 A Z H / N", "n e (4 B L Z A / N + B Z L^2 / N + B L H)"};
constexpr Equations kSharedTokens{"n e 32 H^2", "n e 5 B L H / N", "n e 16 A Z H",
                                  "n e (4 B Z L A / N + B Z L^2 / N + B L H / N)"};

Estimate evaluate(const EstimateInputs& inputs) {
  const BlockShare share = share_of(inputs);
  const SequenceBlock block = block_of(inputs);
  const BlockElements mlp = mlp_elements(block, share);
  const BlockElements attention = attention_elements(block, share);
  const double bytes = static_cast<double>(inputs.shape.layers) * item_bytes(inputs);
  const Equations& e = share == BlockShare::tokens ? kSharedTokens : kSharedWeights;
  return {
      {{"MLP states", e.mlp_states, bytes * mlp.states, kStates},
       {"MLP activations", e.mlp_activations, bytes * mlp.activations, kKept},
       {"attention states", e.attention_states, bytes * attention.states, kStates},
       {"attention activations", e.attention_activations, bytes * attention.activations, kKept}}};
}

// Both columns of both tables, for one block.
std::vector<FormulaVariant> variants(const EstimateInputs& inputs) {
  const SequenceBlock block = block_of(inputs);
  const double bytes = item_bytes(inputs);
  std::vector<FormulaVariant> rows;
  for (const auto& [share, name] : {std::pair{BlockShare::weights, "tensor parallel"},
                                    std::pair{BlockShare::tokens, "sequence parallel"}}) {
    rows.push_back({.label = std::string("an MLP, ") + name,
                    .gpu_bytes = bytes * mlp_elements(block, share).sum()});
    rows.push_back({.label = std::string("an attention, ") + name,
                    .gpu_bytes = bytes * attention_elements(block, share).sum()});
  }
  return rows;
}

}  // namespace

// Table 1: 32 H^2 / N + 4 B L H / N + B L H, and 32 H^2 + 5 B L H / N.
BlockElements mlp_elements(const SequenceBlock& b, BlockShare share) {
  const double weights = 32 * b.hidden * b.hidden;
  const double hidden_states = b.batch * b.length * b.hidden;
  if (share == BlockShare::weights) {
    return {.states = weights / b.ranks,
            .activations = 4 * hidden_states / b.ranks + hidden_states};
  }
  return {.states = weights, .activations = 5 * hidden_states / b.ranks};
}

// Table 2: 16 A Z H / N + 4 B L Z A / N + B Z L^2 / N + B L H, and 16 A Z H + 4 B Z L A / N +
// B Z L^2 / N + B L H / N.
BlockElements attention_elements(const SequenceBlock& b, BlockShare share) {
  const double weights = 16 * b.head_size * b.heads * b.hidden;
  const double hidden_states = b.batch * b.length * b.hidden;
  const double split =
      (4 * b.batch * b.length * b.heads * b.head_size + b.batch * b.heads * b.length * b.length) /
      b.ranks;
  if (share == BlockShare::weights) {
    return {.states = weights / b.ranks, .activations = split + hidden_states};
  }
  return {.states = weights, .activations = split + hidden_states / b.ranks};
}

const Formula kSequenceParallel{
    .name = "sequence-parallel",
    .title = "Tensor against sequence parallelism, MLP and attention blocks",
    .scope = FormulaScope::tensors,
    .equation =
        "n e (MLP + attention) of n layers, e bytes per element: 32 H^2 / N + 4 B L H / N + B L H "
        "and 16 A Z H / N + 4 B L Z A / N + B Z L^2 / N + B L H with tensor parallelism; 32 H^2 + "
        "5 B L H / N and 16 A Z H + 4 B Z L A / N + B Z L^2 / N + B L H / N with ring "
        "self-attention",
    .source = "Li et al. 2021 (arXiv 2105.13120), Tables 1 and 2",
    .assumptions =
        "an MLP of width 4 H, Adam, one type for everything, scores kept; the MLP takes less with "
        "sequence parallelism if B L > 32 H, attention if B L > 16 A Z",
    .known_errors =
        "it counts neither embeddings, logits, norms nor biases, and of the scores one copy: "
        "Colossal-AI's layer keeps those before and after the softmax, dropout's mask and result",
    .refusal = refusal,
    .broken_assumptions = broken_assumptions,
    .evaluate = evaluate,
    .variants = variants,
};

}  // namespace highwater
