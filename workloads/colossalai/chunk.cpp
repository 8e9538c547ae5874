#include "workloads/colossalai/chunk.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "workloads/colossalai/resize_storage.hpp"
#include "workloads/eager/host_copies.hpp"

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
  const Tensor result = eager::reduce_plain("any", flags, {}, eager::KeepDim::no, DType::boolean);
  flags.reset();
  values.runtime().synchronize();
}

// torch.isinf: abs() == inf.
void any_inf(const Tensor& values) {
  Tensor magnitude = eager::pointwise("abs", {values}, values.dtype());
  Tensor flags = eager::pointwise("eq", {magnitude}, DType::boolean);
  magnitude.reset();
  const Tensor result = eager::reduce_plain("any", flags, {}, eager::KeepDim::no, DType::boolean);
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
  states_.push_back(TensorState::hold);
}

void Chunk::close() {
  scatter();
  if (!options_.keeps_gathered && (options_.pins_memory || options_.starts_on_host)) {
    make_host_shard();
  }
  if (!options_.keeps_gathered && options_.starts_on_host) {
    shard_.reset();
  }
}

void Chunk::make_host_shard() {
  eager::Runtime& runtime = group_.runtime();
  host_shard_ = options_.pins_memory
                    ? eager::empty_pinned(runtime, {shard_size()}, options_.dtype)
                    : eager::empty_on(runtime, eager::Place::host, {shard_size()}, options_.dtype);
  runtime.categorize(host_shard_, options_.category);
  eager::copy_to_host(host_shard_, shard_);
}

void Chunk::access() {
  if (is_gathered_) {
    return;
  }
  move_to(eager::Place::cuda);
  gather();
}

// __gather.
void Chunk::gather() {
  resize_storage(whole_, bytes());
  group_.runtime().categorize(whole_, options_.category);
  const std::vector<Tensor> parts = parts_of(whole_, group_.size());
  group_.all_gather(parts, shard_).wait();
  shard_.reset();
  is_gathered_ = true;
}

Tensor Chunk::new_shard() {
  Tensor shard = eager::empty(group_.runtime(), {shard_size()}, options_.dtype);
  group_.runtime().categorize(shard, options_.category);
  return shard;
}

// __scatter.
void Chunk::scatter() {
  if (options_.keeps_gathered || !is_gathered_) {
    return;
  }
  shard_ = new_shard();
  resize_storage(whole_, 0);
  is_gathered_ = false;
}

void Chunk::move_to(eager::Place place) {
  if (is_gathered_ || is_on_host() == (place == eager::Place::host)) {
    return;
  }
  if (place == eager::Place::host) {
    move_to_host();
  } else {
    move_to_device();
  }
}

// __paired_shard_move: the fp32 shard is cast on the GPU.
void Chunk::move_to_device() {
  eager::Runtime& runtime = group_.runtime();
  if (std::exchange(is_outdated_, false)) {
    const Tensor wide = eager::to_device(wide_->host_shard_);
    runtime.synchronize();
    shard_ = eager::to_dtype(wide, options_.dtype);
  } else {
    shard_ = eager::to_device(host_shard_);
    runtime.synchronize();
  }
  runtime.categorize(shard_, options_.category);
  if (!options_.pins_memory) {
    host_shard_.reset();
  }
}

void Chunk::move_to_host() {
  if (options_.pins_memory) {
    eager::copy_to_host(host_shard_, shard_);
  } else {
    host_shard_ = eager::to_host(shard_, false);
    group_.runtime().categorize(host_shard_, options_.category);
  }
  shard_.reset();
}

bool Chunk::take_gradient(std::size_t index) {
  change_state(index, TensorState::ready_for_reduce);
  if (count_of(TensorState::ready_for_reduce) < ends_.size()) {
    return false;
  }
  reduce();
  check_overflow();
  return true;
}

void Chunk::reduce() {
  if (group_.size() == 1) {
    scatter();
  } else if (options_.keeps_gathered) {
    group_.all_reduce(whole_).wait();
  } else {
    shard_ = new_shard();
    const std::vector<Tensor> parts = parts_of(whole_, group_.size());
    group_.reduce_scatter(shard_, parts).wait();
    resize_storage(whole_, 0);
    is_gathered_ = false;
  }
  std::ranges::fill(states_, TensorState::hold);
}

void Chunk::on_optimizer_step() {
  is_outdated_ = wide_ != nullptr && is_on_host();
}

void Chunk::change_state(std::size_t index, TensorState state) {
  using enum TensorState;
  static constexpr std::array kTransitions{
      std::pair{hold, compute},
      std::pair{compute, hold},
      std::pair{compute, hold_after_backward},
      std::pair{hold_after_backward, compute},
      std::pair{hold_after_backward, ready_for_reduce},
  };
  if (std::ranges::find(kTransitions, std::pair{states_[index], state}) != kTransitions.end()) {
    states_[index] = state;
  }
}

std::size_t Chunk::count_of(TensorState state) const {
  return static_cast<std::size_t>(std::ranges::count(states_, state));
}

bool Chunk::can_release() const {
  using enum TensorState;
  return !options_.keeps_gathered &&
         count_of(hold) + count_of(hold_after_backward) == states_.size();
}

std::int64_t Chunk::device_bytes() const {
  return (is_gathered_ ? bytes() : 0) + (shard_.defined() ? shard_bytes() : 0);
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
