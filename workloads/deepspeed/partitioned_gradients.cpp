#include "workloads/deepspeed/partitioned_gradients.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "workloads/deepspeed/common/gradient_scale.hpp"
#include "workloads/deepspeed/common/tensor_data.hpp"
#include "workloads/deepspeed/nvme.hpp"
#include "workloads/eager/host_copies.hpp"
#include "workloads/nn/backward_pass.hpp"

namespace highwater::deepspeed {

using eager::kLeastBlock;
using eager::Scoped;
using eager::Tensor;
using eager::TensorList;
using optim::TensorVector;

namespace {

// _constant_buffered_norm2.
Tensor buffered_norm(const Tensor& input) {
  constexpr std::int64_t kBufferSize = 250'000'000;
  Tensor norm;
  for (std::int64_t start = 0; start < input.numel(); start += kBufferSize) {
    const std::int64_t length = std::min(kBufferSize, input.numel() - start);
    Tensor wide = optim::make_like("to", narrow_as(input, start, {length}), kDouble);
    Tensor root = optim::vector_norm(wide, {}, eager::KeepDim::no);
    wide.reset();
    const Tensor square = optim::make_like("pow", root);
    root.reset();
    norm = norm.defined() ? norm : square;  // += is in place
  }
  return optim::make_like("pow", norm);
}

/// The tensors that reduce_scatter_coalesced pads with; one in the place of many where it may.
class Paddings {
 public:
  Paddings(eager::Runtime& runtime, DType dtype) : runtime_(runtime), dtype_(dtype) {}

  /// So many elements each, in this order, over and over: for one rank after the other.
  void add(const std::vector<std::int64_t>& numels, int ranks) {
    if (numels.empty()) {
      return;
    }
    if (runtime_.joins_equal_blocks &&
        std::ranges::max(numels) * item_size(dtype_) <= kLeastBlock) {
      add_equal(std::accumulate(numels.begin(), numels.end(), std::int64_t{0}) * ranks,
                static_cast<std::int64_t>(numels.size()) * ranks);
      return;
    }
    for (int rank = 0; rank < ranks; ++rank) {
      std::ranges::for_each(numels, [this](std::int64_t numel) { add(numel); });
    }
  }

  TensorVector take() { return std::move(all_); }

 private:
  void add(std::int64_t numel) {
    const eager::OpScope op(runtime_, "deepspeed::padding");
    all_.push_back(eager::empty(runtime_, {numel}, dtype_));
  }

  void add_equal(std::int64_t elements, std::int64_t count) {
    const eager::OpScope op(runtime_, "deepspeed::padding", 0);
    for (const Tensor& each : eager::empty_equal(runtime_, elements, count, dtype_)) {
      all_.push_back(each);
    }
  }

  eager::Runtime& runtime_;
  DType dtype_;
  TensorVector all_;
};

}  // namespace

PartitionedGradients::PartitionedGradients(dist::ProcessGroup& group, const Zero& options, int rank,
                                           GradientTypes types,
                                           const std::vector<PartitionedParameter*>& parameters,
                                           GradientPlace place)
    : group_(group),
      runtime_(group.runtime()),
      options_(options),
      rank_(rank),
      types_(types),
      offloads_(place.offloads) {
  stream_ = options.overlaps(3) ? runtime_.make_stream() : runtime_.stream;
  if (options.contiguous_gradients) {
    const eager::OpScope op(runtime_, "deepspeed::ipg_bucket");
    bucket_ = eager::empty(runtime_, {options.reduce_bucket_size}, types.sent);
    runtime_.categorize(bucket_, Category::communication);
  }
  std::int64_t elements = 0;
  for (const PartitionedParameter* parameter : parameters) {
    offsets_[parameter] = elements;
    elements += parameter->partition_numel;
  }
  const eager::OpScope op(runtime_, "zeros");
  partitions_ = eager::empty_on(runtime_, offloads_ ? eager::Place::host : eager::Place::cuda,
                                {elements}, types.kept);
  if (offloads_ && place.pins) {
    partitions_ = eager::pin_memory(partitions_);
  }
  runtime_.categorize(partitions_, Category::gradient);
}

void PartitionedGradients::add(PartitionedParameter& parameter) {
  if (elements_ + parameter.numel > options_.reduce_bucket_size && elements_ > 0) {
    reduce();
  }
  if (bucket_.defined() && elements_ + parameter.numel <= options_.reduce_bucket_size) {
    const Tensor& gradient = parameter.tensor->grad;
    runtime_.launch(1);
    runtime_.record_stream(gradient, stream_);
    set_data(gradient, narrow_as(bucket_, elements_, gradient.sizes()));
  }
  in_bucket_.push_back(&parameter);
  elements_ += parameter.numel;
}

void PartitionedGradients::reduce() {
  if (in_bucket_.empty()) {
    return;
  }
  const eager::NoGrad no_grad(runtime_);
  const Scoped<StreamId> on_stream(runtime_.stream, stream_);
  average_and_scatter();
  in_bucket_.clear();
  elements_ = 0;
}

/// Elements that `rank`'s part lacks to reach the common size.
std::int64_t PartitionedGradients::padding(const PartitionedParameter& parameter, int rank) const {
  const std::int64_t chunk = parameter.partition_numel;
  return chunk - std::clamp<std::int64_t>(parameter.numel - rank * chunk, 0, chunk);
}

void PartitionedGradients::average_and_scatter() {
  const bool is_in_bucket = bucket_.defined() && elements_ <= options_.reduce_bucket_size;
  if (is_in_bucket && !options_.reduce_scatter) {
    average_and_scatter_bucket();
    return;
  }
  std::ranges::sort(in_bucket_, {}, &PartitionedParameter::id);
  TensorList sent = gradients_to_send();
  Tensor flat = reduce_scatter(sent);
  TensorList parts;
  if (types_.sent != types_.kept) {
    parts = own_parts_as_kept();
    flat.reset();
  }
  eager::release_list(sent);
  release_gradients(Offloaded::own_part);
  eager::release_list(parts);
}

// __avg_scatter_contiguous_grads, with reduce_scatter off: the bucket itself is reduced, and scaled
// into a copy (mul).
void PartitionedGradients::average_and_scatter_bucket() {
  group_.all_reduce(bucket_).wait();
  Tensor scaled = optim::make_like("mul", narrow_as(bucket_, 0, {elements_}));
  if (types_.sent != types_.kept) {
    scaled = optim::make_like("to", scaled, types_.kept);
  }
  TensorVector padded;
  for (const PartitionedParameter* parameter : in_bucket_) {
    if (padding(*parameter, rank_) > 0) {
      const eager::OpScope op(runtime_, "zeros");
      padded.push_back(eager::empty(runtime_, {parameter->partition_numel}, types_.kept));
    }
  }
  release_gradients(Offloaded::padded_part);
}

// full_grads_for_rank: those that were too large for the bucket still have the parameters' type.
TensorList PartitionedGradients::gradients_to_send() const {
  TensorList gradients;
  for (const PartitionedParameter* parameter : in_bucket_) {
    gradients.push_back(eager::to_dtype(parameter->tensor->grad, types_.sent));
  }
  return gradients;
}

// [g.to(self.gradient_accumulation_dtype) for g in grad_partitions_for_rank]
TensorList PartitionedGradients::own_parts_as_kept() const {
  TensorList parts;
  for (const PartitionedParameter* parameter : in_bucket_) {
    const std::int64_t own = parameter->partition_numel - padding(*parameter, rank_);
    if (own > 0) {
      const eager::OpScope op(runtime_, "to");
      parts.push_back(eager::empty(runtime_, {own}, types_.kept));
    }
  }
  return parts;
}

// The parts of all gradients rank by rank, padded (in large jobs most parts of a small gradient are
// nothing but padding).
TensorVector PartitionedGradients::paddings_of_parts() const {
  Paddings paddings(runtime_, types_.sent);
  const std::vector<int> ends = ends_of_like_ranks();
  int begin = 0;
  for (const int end : ends) {
    std::vector<std::int64_t> missing;
    for (const PartitionedParameter* parameter : in_bucket_) {
      if (const std::int64_t elements = padding(*parameter, begin); elements > 0) {
        missing.push_back(elements);
      }
    }
    paddings.add(missing, end - begin);
    begin = end;
  }
  return paddings.take();
}

/// Where ranks end whose parts lack as many elements: those before the last one that has some, that
/// one, and those behind it, of each parameter.
std::vector<int> PartitionedGradients::ends_of_like_ranks() const {
  std::set<int> ends{group_.size()};
  for (const PartitionedParameter* parameter : in_bucket_) {
    const std::int64_t whole = parameter->numel / parameter->partition_numel;
    for (const std::int64_t end : {whole, whole + 1}) {
      if (end > 0 && end < group_.size()) {
        ends.insert(static_cast<int>(end));
      }
    }
  }
  return {ends.begin(), ends.end()};
}

// The paddings are freed after the call of the collective, the copy once this rank's part has been
// taken out of it.
Tensor PartitionedGradients::reduce_scatter(const TensorList& gradients) {
  const PartitionedParameter& first = *in_bucket_.front();
  if (in_bucket_.size() == 1 && first.numel % group_.size() == 0) {
    const Tensor flat = narrow_as(gradients.front(), 0, {first.numel});
    group_.reduce_scatter_tensor(flat, flat);
    return flat;
  }
  const TensorVector paddings = paddings_of_parts();
  std::int64_t elements = 0;
  for (const PartitionedParameter* parameter : in_bucket_) {
    elements += group_.size() * parameter->partition_numel;
  }
  const eager::OpScope op(runtime_, "cat");
  Tensor flat = eager::empty(runtime_, {elements}, types_.sent);
  runtime_.categorize(flat, Category::communication);
  group_.reduce_scatter_tensor(flat, flat);
  return flat;
}

// partition_grads: the parts are copied or added in place.
void PartitionedGradients::release_gradients(Offloaded offloaded) {
  for (const PartitionedParameter* parameter : in_bucket_) {
    const std::int64_t own = parameter->partition_numel - padding(*parameter, rank_);
    if (own == 0) {
      parameter->tensor->grad.reset();
      continue;
    }
    if (offloads_) {
      offload(*parameter, offloaded == Offloaded::padded_part ? parameter->partition_numel : own);
    }
    runtime_.record_stream(parameter->tensor->grad, stream_);
    parameter->tensor->grad.reset();
  }
  swap_out_gradients();
  grad_buffer_.reset();
}

// The variable releases the previous partition first, but in later micro-batches cuda_grad_buffer
// holds it until it is bound again.
void PartitionedGradients::offload(const PartitionedParameter& parameter, std::int64_t numel) {
  if (micro_step_ == 0) {
    grad_buffer_.reset();
  }
  {
    const eager::OpScope op(runtime_, "to");
    grad_buffer_ = eager::empty(runtime_, {numel}, partitions_.dtype());
  }
  if (pass_ == BackwardPass::last) {
    norms_.emplace_back(&parameter, buffered_norm(grad_buffer_));
    const Tensor fp32 = eager::to_dtype(grad_buffer_, DType::fp32);
    if (parameter.nvme_sub_group) {
      leaving(*parameter.nvme_sub_group).push_back(fp32);
    } else {
      runtime_.synchronize();
    }
  }
}

std::vector<Tensor>& PartitionedGradients::leaving(std::size_t sub_group) {
  const auto found =
      std::ranges::find(leaving_, sub_group, &std::pair<std::size_t, std::vector<Tensor>>::first);
  return found == leaving_.end() ? leaving_.emplace_back(sub_group, std::vector<Tensor>{}).second
                                 : found->second;
}

// The lists are locals of partition_grads.
void PartitionedGradients::swap_out_gradients() {
  for (auto& [sub_group, gradients] : leaving_) {
    for (const Tensor& gradient : gradients) {
      if (leaves_rest(gradient.numel())) {
        staying_[sub_group].push_back(gradient);
      }
    }
  }
  if (!leaving_.empty()) {
    runtime_.synchronize();
  }
  for (auto& [sub_group, gradients] : leaving_) {
    eager::release_list(gradients);
  }
  leaving_.clear();
}

// A dict, which releases its values from first to last.
void PartitionedGradients::take_rest_of(std::size_t sub_group) {
  for (Tensor& gradient : staying_[sub_group]) {
    gradient.reset();
  }
  staying_.erase(sub_group);
}

Tensor PartitionedGradients::norm_of(const PartitionedParameter& parameter) const {
  const auto found =
      std::ranges::find(norms_, &parameter, &std::pair<const PartitionedParameter*, Tensor>::first);
  return found == norms_.end() ? Tensor{} : found->second;
}

void PartitionedGradients::reset_norms() {
  for (auto& [parameter, norm] : norms_) {
    norm.reset();
  }
  norms_.clear();
}

void PartitionedGradients::finish() {
  reduce();
  runtime_.synchronize();
}

Tensor PartitionedGradients::partition_of(const PartitionedParameter& parameter) const {
  return narrow_as(partitions_, offsets_.at(&parameter), {parameter.partition_numel});
}

}  // namespace highwater::deepspeed
