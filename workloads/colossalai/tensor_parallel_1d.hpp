// ColoTensor's one-dimensional tensor parallelism as LLMem uses it (ComputePattern.TP1D).
//
// Weights of nn.Linear and nn.Embedding are split along their last dimension over the tensor-
// parallel ranks; biases and norms stay whole. A linear layer cuts its input, multiplies and sums
// full-size partial results over the ranks; an embedding gathers its output. In backward the
// gradient of each linear's input is gathered from all ranks. Sources: LLMem's fork of Colossal-AI,
// colossalai/nn/_ops/{linear,embedding}.py and nn/parallel/layers/{linear,embedding}.py (default
// mode "row" of linears, "col" of embeddings); Colossal-AI 0.3.0, tensor/dist_spec_mgr.py and
// nn/_ops/_utils.py.
#pragma once

#include "workloads/distributed/process_group.hpp"
#include "workloads/nn/module.hpp"

namespace highwater::dist {

/// This process among the tensor-parallel ranks.
struct TensorParallelRank {
  ProcessGroup* group = nullptr;
  int rank = 0;
};

/// ColoInitContext puts every module's parameters on the GPU as soon as it is constructed: a head
/// has a weight of its own there until it is tied to the embedding
/// (zero/gemini/colo_init_context.py).
void construct_tied_heads(nn::Module& root);

/// init_colo_module: replaces the weights of all linear layers and embeddings by this rank's part.
/// A weight that two modules share is split once. Returns the weights that were split.
std::vector<eager::Tensor> split_weights(nn::Module& root, const TensorParallelRank& place);

/// redistribute(ShardSpec([-1])): this rank's columns; in backward the gradients of all ranks are
/// gathered.
eager::Tensor take_columns(const eager::Tensor& whole, const TensorParallelRank& place);

/// to_replicate(): all ranks' columns side by side; in backward this rank's part is cut out.
eager::Tensor gather_columns(const eager::Tensor& part, const TensorParallelRank& place);

/// reduce_input: the sum of all ranks' partial results, in place.
eager::Tensor sum_over_ranks(const eager::Tensor& partial, const TensorParallelRank& place);

}  // namespace highwater::dist
