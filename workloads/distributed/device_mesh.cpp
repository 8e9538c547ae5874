#include "workloads/distributed/device_mesh.hpp"

#include <algorithm>
#include <utility>

namespace highwater::dist {

using eager::Dims;
using eager::Tensor;
using eager::TensorList;

namespace {

// _collective_utils.py: pad_tensor, unpad_tensor.
Tensor padded(const Tensor& tensor, std::int64_t dim, std::int64_t count) {
  if (count == 0) {
    return tensor;
  }
  const auto behind = tensor.dim() - eager::wrap(dim, tensor.dim());
  Dims pads(2 * behind, 0);
  pads.back() = count;
  return eager::constant_pad(tensor, pads);
}

Tensor unpadded(const Tensor& tensor, std::int64_t dim, std::int64_t count) {
  return count == 0 ? tensor : eager::slice(tensor, dim, 0, tensor.size(dim) - count);
}

/// Collectives keep their inputs until they are waited for (ProcessGroupNCCL.cpp:
/// stashed_for_allocator_safety_); before, these were recorded on NCCL's stream.
constexpr Release kHoldsInputs{2, 8};

/// Columns without their padding are copied (Shard._maybe_unpad_tensor; seen in 2.15).
constexpr Release kGathersContiguous{2, 15};

}  // namespace

std::int64_t DeviceMesh::chunk_size(std::int64_t size) const {
  return (size + this->size() - 1) / this->size();
}

std::int64_t DeviceMesh::shard_size(std::int64_t size) const {
  const std::int64_t chunk = chunk_size(size);
  return std::clamp(size - chunk * rank_, std::int64_t{0}, chunk);
}

void DeviceMesh::wait_for_last() {
  std::exchange(pending_, {}).wait();
}

void DeviceMesh::finish(const Work& work) {
  if (std::exchange(waits_at_use_, false)) {
    pending_ = work;
  } else {
    work.wait();
  }
}

// Shard._split_tensor with padding and contiguous pieces.
TensorList DeviceMesh::padded_pieces(const Tensor& whole, std::int64_t dim) const {
  const std::int64_t full = chunk_size(whole.size(dim));
  TensorList pieces;
  TensorList chunks = eager::chunk(whole, size(), dim);
  for (Tensor& chunk : chunks) {
    pieces.push_back(eager::contiguous(padded(chunk, dim, full - chunk.size(dim))));
  }
  if (pieces.size() < static_cast<std::size_t>(size())) {
    Dims sizes = whole.sizes();
    sizes[eager::wrap(dim, whole.dim())] = 0;
    const Tensor none = eager::empty_on(runtime(), whole.place(), sizes, whole.dtype());
    while (pieces.size() < static_cast<std::size_t>(size())) {
      pieces.push_back(padded(none, dim, full));
    }
  }
  return pieces;
}

// Shard._shard_tensor. dist.scatter is synchronous: nothing is recorded on NCCL's stream.
Tensor DeviceMesh::scatter(const Tensor& whole, std::int64_t dim) {
  if (whole.place() == eager::Place::meta) {
    Dims sizes = whole.sizes();
    sizes[eager::wrap(dim, whole.dim())] = shard_size(whole.size(dim));
    return eager::empty_on(runtime(), eager::Place::meta, sizes, whole.dtype());
  }
  TensorList pieces = padded_pieces(whole, dim);
  const std::int64_t full = chunk_size(whole.size(dim));
  Tensor output = eager::empty_like(pieces[static_cast<std::size_t>(rank_)]);
  output = unpadded(output, dim, full - shard_size(whole.size(dim)));
  eager::release_list(pieces);
  return output;
}

// _c10d_functional::all_reduce works on a contiguous copy.
Tensor DeviceMesh::all_reduce(const Tensor& tensor) {
  wait_for_last();
  Tensor output = eager::clone_contiguous(tensor);
  finish(group_.all_reduce(output));
  return output;
}

// Shard._to_replicate_tensor and all_gather_tensor: ranks are gathered along dimension 0; another
// one takes a copy.
Tensor DeviceMesh::all_gather(const Tensor& shard, std::int64_t dim, std::int64_t size) {
  wait_for_last();
  const std::int64_t full = chunk_size(size);
  const Tensor part = eager::contiguous(padded(shard, dim, full - shard.size(dim)));
  Dims sizes = part.sizes();
  sizes[0] *= this->size();
  Tensor whole = eager::empty(runtime(), sizes, part.dtype());
  group_.all_gather_functional(whole, part).wait();
  if (eager::wrap(dim, part.dim()) != 0) {
    whole = eager::cat(eager::chunk(whole, this->size(), 0), dim);
  }
  whole = unpadded(whole, dim, full * this->size() - size);
  return runtime().torch >= kGathersContiguous ? eager::contiguous(whole) : whole;
}

// Shard._reduce_shard_tensor and reduce_scatter_tensor, which copies unless it cuts dimension 0.
Tensor DeviceMesh::reduce_scatter(const Tensor& tensor, std::int64_t dim) {
  wait_for_last();
  const std::int64_t length = tensor.size(dim);
  Tensor whole = tensor;
  if (length % size() != 0) {
    TensorList pieces = padded_pieces(tensor, dim);
    whole = eager::cat(pieces, dim);
    eager::release_list(pieces);
  } else {
    whole = eager::contiguous(tensor);
  }
  const Tensor padded_whole = whole;  // a name of the caller's frame
  if (eager::wrap(dim, tensor.dim()) != 0) {
    whole = eager::cat(eager::chunk(whole, size(), dim), 0);
  }
  Dims sizes = whole.sizes();
  sizes[0] /= size();
  const Tensor output = eager::empty(runtime(), sizes, whole.dtype());
  if (waits_at_use_ && runtime().torch >= kHoldsInputs) {
    runtime().hold_until_read(output, whole);
  }
  finish(group_.reduce_scatter_async(output, whole));
  whole.reset();
  return unpadded(output, dim, chunk_size(length) - shard_size(length));
}

// Shard._to_new_shard_dim, with _dtensor::shard_dim_alltoall: pieces lie one behind the other while
// they travel, so that columns are copied on either side (recorded with 2.15).
Tensor DeviceMesh::all_to_all(const Tensor& shard, const Dims& sizes, std::int64_t from,
                              std::int64_t to) {
  wait_for_last();
  const std::int64_t old_size = sizes[eager::wrap(from, sizes.size())];
  const std::int64_t new_size = sizes[eager::wrap(to, sizes.size())];
  const std::int64_t old_full = chunk_size(old_size);
  const std::int64_t new_full = chunk_size(new_size);
  Tensor input = padded(shard, from, old_full - shard.size(from));
  input = eager::contiguous(padded(input, to, new_full * size() - new_size));
  Tensor sent = to == 0 ? input : eager::clone(input);
  Dims parts = input.sizes();
  parts[eager::wrap(from, sizes.size())] = old_full * size();
  parts[eager::wrap(to, sizes.size())] = new_full;
  Tensor output = eager::empty(runtime(), parts, input.dtype());
  Tensor result = from == 0 ? output : eager::clone(output);
  eager::end_of_frame(sent, output, input);
  return unpadded(unpadded(result, from, old_full * size() - old_size), to,
                  new_full - shard_size(new_size));
}

// Shard._replicate_to_shard.
Tensor DeviceMesh::piece(const Tensor& tensor, std::int64_t dim) const {
  const TensorList pieces = eager::chunk(tensor, size(), dim);
  const auto index = static_cast<std::size_t>(rank_);
  if (index < pieces.size()) {
    return eager::clone(pieces[index]);
  }
  Dims sizes = tensor.sizes();
  sizes[eager::wrap(dim, tensor.dim())] = 0;
  return eager::empty(runtime(), sizes, tensor.dtype());
}

}  // namespace highwater::dist
