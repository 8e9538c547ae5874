#include "workloads/distributed/context_parallel/context_parallel.hpp"

#include <utility>

#include "workloads/plan/parallel_kinds.hpp"

namespace highwater::dist {

using eager::Runtime;
using eager::Tensor;
using eager::TensorList;

namespace {

// _HeadTailLoadBalancer._generate_indices: chunk r and chunk 2 ranks - 1 - r for rank r.
Tensor rearrangement(Runtime& runtime, std::int64_t length, std::int64_t ranks) {
  Tensor indices = eager::arange(runtime, length, DType::int32);
  const Tensor chunks = eager::view(indices, {2 * ranks, -1});
  Tensor head = eager::arange(runtime, ranks);
  Tensor tail = eager::rsub(head, 0.0);
  TensorList halves{eager::index(chunks, head), eager::index(chunks, tail)};
  Tensor paired = eager::stack(halves, 1);
  eager::release_list(halves);
  eager::end_of_frame(indices, head, tail);
  return eager::reshape(paired, {1, length});
}

// torch.gather, then this rank's chunk of the result, copied.
Tensor own_shard(const Tensor& buffer, const Tensor& indices, std::int64_t ranks) {
  const Tensor rearranged =
      eager::gather(buffer, 1, eager::expand(indices, {buffer.size(0), buffer.size(1)}));
  return eager::clone(eager::chunk(rearranged, ranks, 1)[0]);
}

TensorList own_shards(std::span<Tensor* const> buffers, std::int64_t ranks) {
  const Tensor& first = *buffers.front();
  const Tensor indices = rearrangement(first.runtime(), first.size(1), ranks);
  TensorList shards;
  for (const Tensor* buffer : buffers) {
    shards.push_back(own_shard(*buffer, indices, ranks));
  }
  return shards;
}

// Tensor.resize_ to fewer elements.
Tensor shrunk(const Tensor& buffer, const eager::Dims& sizes) {
  Tensor result = eager::alias(buffer);
  result->sizes = sizes;
  result->strides = eager::contiguous_strides(sizes);
  return result;
}

}  // namespace

ContextParallel::ContextParallel(eager::sdpa::SharedAttention& attention, int ranks,
                                 std::span<Tensor* const> buffers)
    : attention_(buffers.front()->runtime().shared_attention, &attention) {
  const eager::OpScope op(buffers.front()->runtime(), "context_parallel", 0);
  shards_ = own_shards(buffers, ranks);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    last_ = shards_[i];
    last_ = eager::clone(last_);
    *buffers[i] = shrunk(*buffers[i], last_.sizes());
  }
}

}  // namespace highwater::dist
