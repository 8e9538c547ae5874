#include "workloads/distributed/context_parallel/ring_attention.hpp"

#include <optional>
#include <utility>

#include "workloads/distributed/context_parallel/partial_results.hpp"

namespace highwater::dist {

using eager::Tensor;
using eager::TensorList;
using eager::sdpa::BackwardOperands;
using eager::sdpa::FusedAttention;
using eager::sdpa::KernelCall;
using eager::sdpa::Operands;

namespace {

Tensor flat(const Tensor& self) {
  return eager::flatten(self, 0, static_cast<std::int64_t>(self.dim()) - 1);
}

// torch.cat([key.flatten(), value.flatten()])
Tensor joined(const Tensor& key, const Tensor& value) {
  TensorList parts{flat(key), flat(value)};
  Tensor whole = eager::cat(parts, 0);
  eager::release_list(parts);
  return whole;
}

/// Keys and values, or their gradients.
struct Pair {
  Tensor key;
  Tensor value;
};

// Views of a block in which one follows the other.
Pair parted(const Tensor& block, const Pair& like) {
  const std::int64_t keys = like.key.numel();
  return {eager::view(eager::slice(block, 0, 0, keys), like.key.sizes()),
          eager::view(eager::slice(block, 0, keys, eager::kEnd), like.value.sizes())};
}

/// _AllGatherRotater: one gather, whatever is sent later.
class GatheredPairs {
 public:
  explicit GatheredPairs(ProcessGroup& group) : group_(group) {}

  void send(const Tensor& pair) {
    if (gathered_.defined()) {
      return;
    }
    sent_ = pair;
    gathered_ = eager::empty(group_.runtime(), {group_.size() * pair.numel()}, pair.dtype());
    work_ = group_.all_gather_functional(gathered_, pair);
  }

  // Which rank's part it is makes no difference to memory.
  Tensor next() {
    std::exchange(work_, {}).wait();
    sent_.reset();
    return eager::chunk(gathered_, group_.size(), 0)[0];
  }

 private:
  ProcessGroup& group_;
  Tensor sent_;  ///< NCCL holds it until the work was waited for
  Tensor gathered_;
  Work work_;
};

/// _AllToAllRotater: to the next rank, from the one before.
class PassedGradients {
 public:
  explicit PassedGradients(ProcessGroup& group) : group_(group) {}

  void send(const Tensor& pair) {
    sent_ = pair;
    Tensor received = eager::empty_like(pair);
    work_ = group_.all_to_all_single(received, pair);
    received_ = std::move(received);
  }

  Tensor next() {
    std::exchange(work_, {}).wait();
    sent_.reset();
    return received_;
  }

 private:
  ProcessGroup& group_;
  Tensor sent_;
  Tensor received_;
  Work work_;
};

/// What a step attends to: its own keys with all queries first, then the first chunk of earlier
/// ranks' keys, and the second chunk of queries with later ranks' keys.
struct StepChunks {
  Chunks queries = Chunks::both;
  Chunks keys = Chunks::both;
};

StepChunks chunks_of(int step, int rank) {
  if (step == 0) {
    return {};
  }
  return step <= rank ? StepChunks{.keys = Chunks::first} : StepChunks{.queries = Chunks::second};
}

// += and what follows it in _partial_update, which joins the chunks anew.
void add_in_place(Tensor& sum, Chunks chunks) {
  eager::in_place(sum);
  if (chunks != Chunks::both) {
    sum = with_part(sum, chunks, part_of(sum, chunks));
  }
}

Tensor zeros_in_fp32(const Tensor& like) {
  return eager::empty_like(like, DType::fp32);
}

}  // namespace

TensorList RingAttention::forward(const FusedAttention& kernel, const Operands& in,
                                  const KernelCall& call) {
  const eager::NoGrad no_grad(group_.runtime());
  Pair pair{eager::contiguous(in.key), eager::contiguous(in.value)};
  PartialResults merged;
  GatheredPairs gather(group_);
  TensorList kept;
  TensorList results;
  for (int step = 0; step < group_.size(); ++step) {
    if (step > 0) {
      pair = parted(gather.next(), pair);
    }
    if (step + 1 < group_.size()) {
      gather.send(joined(pair.key, pair.value));
    }
    const StepChunks chunks = chunks_of(step, rank_);
    results = kernel.forward({.query = part_of(in.query, chunks.queries),
                              .key = part_of(pair.key, chunks.keys),
                              .value = part_of(pair.value, chunks.keys),
                              .mask = {}},
                             {.dropout = call.dropout});
    if (step == 0) {
      kept.assign(results.begin() + 2, results.end());
    }
    merged.add(results[0], results[1], chunks.queries);
  }
  TensorList out = merged.results(in.query.dtype());
  out.insert(out.end(), kept.begin(), kept.end());
  return out;
}

namespace {

/// The variables of _templated_ring_attention_backward.
struct BackwardFrame {
  Pair pair;
  Tensor joined_pair;
  Tensor joined_gradients;
  TensorList gradients;  ///< of the last step
  Tensor grad_query;
  Pair grad_pair;
};

BackwardOperands operands_of(const BackwardOperands& in, const Pair& pair,
                             const StepChunks& chunks) {
  BackwardOperands part = in;
  part.inputs.key = part_of(pair.key, chunks.keys);
  part.inputs.query = part_of(in.inputs.query, chunks.queries);
  part.inputs.value = part_of(pair.value, chunks.keys);
  part.output = part_of(in.output, chunks.queries);
  part.grad = part_of(in.grad, chunks.queries);
  if (chunks.queries != Chunks::both) {
    part.logsumexp = eager::contiguous(part_of(in.logsumexp, chunks.queries));
  }
  return part;
}

}  // namespace

TensorList RingAttention::backward(const FusedAttention& kernel, const BackwardOperands& in) {
  const eager::NoGrad no_grad(group_.runtime());
  BackwardFrame frame;
  frame.grad_query = zeros_in_fp32(in.inputs.query);
  frame.grad_pair.key = zeros_in_fp32(in.inputs.key);
  frame.grad_pair.value = zeros_in_fp32(in.inputs.value);
  frame.pair = {eager::contiguous(in.inputs.key), eager::contiguous(in.inputs.value)};
  GatheredPairs pairs(group_);
  PassedGradients passed(group_);
  std::optional<BackwardOperands> operands;
  for (int step = 0; step < group_.size(); ++step) {
    if (step > 0) {
      frame.pair = parted(pairs.next(), frame.pair);
    }
    if (step + 1 < group_.size()) {
      frame.joined_pair = joined(frame.pair.key, frame.pair.value);
      pairs.send(frame.joined_pair);
    }
    const StepChunks chunks = chunks_of(step, rank_);
    operands = operands_of(in, frame.pair, chunks);
    frame.gradients = kernel.backward(*operands);
    if (step > 0) {
      frame.joined_gradients = passed.next();
      frame.grad_pair = parted(frame.joined_gradients, frame.grad_pair);
    }
    add_in_place(frame.grad_pair.key, chunks.keys);
    add_in_place(frame.grad_pair.value, chunks.keys);
    frame.joined_gradients = joined(frame.grad_pair.key, frame.grad_pair.value);
    passed.send(frame.joined_gradients);
    add_in_place(frame.grad_query, chunks.queries);
  }
  frame.grad_query = eager::to_dtype(frame.grad_query, in.inputs.query.dtype());
  frame.joined_gradients = eager::to_dtype(passed.next(), in.inputs.key.dtype());
  frame.grad_pair = parted(frame.joined_gradients, frame.grad_pair);
  return {frame.grad_query, frame.grad_pair.key, frame.grad_pair.value};
}

}  // namespace highwater::dist
