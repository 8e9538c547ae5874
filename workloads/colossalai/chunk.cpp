#include "workloads/colossalai/chunk.hpp"

#include <algorithm>

#include "workloads/colossalai/resize_storage.hpp"

namespace highwater::dist {

using eager::Tensor;

namespace {

// torch.chunk(whole, ranks): views.
std::vector<Tensor> parts_of(const Tensor& whole, int ranks) {
  std::vector<Tensor> parts;
  const std::int64_t size = whole.numel() / ranks;
  for (int i = 0; i < ranks; ++i) {
    parts.push_back(eager::slice(whole, 0, i * size, (i + 1) * size));
  }
  return parts;
}

// test().any().item(): the tensor of booleans dies when any() has returned.
void any_item(const char* test, const Tensor& values) {
  Tensor flags = eager::pointwise(test, {values}, DType::boolean);
  const Tensor result = eager::reduce_plain("any", flags, {}, false, DType::boolean);
  flags.reset();
  values.runtime().synchronize();
}

// torch.isinf: abs() == inf.
void any_inf(const Tensor& values) {
  Tensor magnitude = eager::pointwise("abs", {values}, values.dtype());
  Tensor flags = eager::pointwise("eq", {magnitude}, DType::boolean);
  magnitude.reset();
  const Tensor result = eager::reduce_plain("any", flags, {}, false, DType::boolean);
  flags.reset();
  values.runtime().synchronize();
}

}  // namespace

Chunk::Chunk(ProcessGroup& group, const ChunkOptions& options)
    : group_(group),
      options_(options),
      whole_(eager::empty(group.runtime(), {options.size}, options.dtype)) {
  group_.runtime().categorize(whole_, options_.category);
}

void Chunk::append(const Tensor& tensor) {
  tensor->storage = whole_->storage;
  tensor->strides = eager::contiguous_strides(tensor.sizes());
  tensor->offset = used_;
  used_ += tensor.numel();
  ends_.push_back(used_);
}

void Chunk::close() {
  scatter();
}

void Chunk::access() {
  if (!shard_.defined()) {
    return;
  }
  resize_storage(whole_, bytes());
  group_.runtime().categorize(whole_, options_.category);
  const std::vector<Tensor> parts = parts_of(whole_, group_.size());
  group_.all_gather(parts, shard_).wait();
  shard_.reset();
}

// __scatter.
void Chunk::scatter() {
  if (options_.keeps_gathered || shard_.defined()) {
    return;
  }
  shard_ = eager::empty(group_.runtime(), {shard_size()}, options_.dtype);
  group_.runtime().categorize(shard_, options_.category);
  resize_storage(whole_, 0);
}

void Chunk::take_gradient() {
  if (++ready_gradients_ == ends_.size()) {
    ready_gradients_ = 0;
    reduce();
    check_overflow();
  }
}

void Chunk::reduce() {
  if (group_.size() == 1) {
    scatter();
  } else if (options_.keeps_gathered) {
    group_.all_reduce(whole_).wait();
  } else {
    shard_ = eager::empty(group_.runtime(), {shard_size()}, options_.dtype);
    group_.runtime().categorize(shard_, options_.category);
    const std::vector<Tensor> parts = parts_of(whole_, group_.size());
    group_.reduce_scatter(shard_, parts).wait();
    resize_storage(whole_, 0);
  }
}

// has_inf_or_nan of the elements in use.
void Chunk::check_overflow() const {
  Tensor values;
  if (shard_.defined()) {
    const std::int64_t begin = shard_size() * options_.rank;
    const std::int64_t valid = std::clamp(used_ - begin, std::int64_t{0}, shard_size());
    values = eager::slice(shard_, 0, 0, valid);
  } else {
    values = eager::slice(whole_, 0, 0, used_);
  }
  any_inf(values);
  any_item("ne", values);  // torch.isnan: self != self
}

ShardRange Chunk::range(std::size_t index) const {
  const std::int64_t begin = index == 0 ? 0 : ends_[index - 1];
  if (options_.keeps_gathered) {
    return {begin, ends_[index]};
  }
  const std::int64_t shard_begin = shard_size() * options_.rank;
  return {std::max(std::int64_t{0}, begin - shard_begin),
          std::min(shard_size(), ends_[index] - shard_begin)};
}

}  // namespace highwater::dist
