#include "workloads/deepspeed/gradient_buckets.hpp"

#include <utility>

#include "workloads/deepspeed/common/tensor_data.hpp"

namespace highwater::deepspeed {

using eager::Scoped;
using eager::Tensor;
using optim::TensorVector;

GradientBuckets::GradientBuckets(dist::ProcessGroup& group, const BucketOptions& options,
                                 DType dtype)
    : group_(group), runtime_(group.runtime()), options_(options), dtype_(dtype) {
  stream_ = options.overlaps ? runtime_.make_stream() : runtime_.stream;
}

void GradientBuckets::set_parameters(std::vector<PlacedParameter> parameters) {
  parameters_ = std::move(parameters);
}

// Even if the model is smaller than a bucket. `self.ipg_buffer = []` drops the old ones first.
void GradientBuckets::allocate() {
  if (!uses_buffer()) {
    return;
  }
  buffers_.clear();
  for (int i = 0; i < (options_.overlaps ? 2 : 1); ++i) {
    const eager::OpScope op(runtime_, "deepspeed::ipg_buffer");
    Tensor buffer = eager::empty(runtime_, {options_.zero.reduce_bucket_size}, dtype_);
    runtime_.categorize(buffer, Category::communication);
    buffers_.push_back(std::move(buffer));
  }
  current_ = 0;
}

bool GradientBuckets::is_too_large(const Tensor& parameter) const {
  return parameter.numel() > options_.zero.reduce_bucket_size;
}

void GradientBuckets::add(std::size_t index) {
  const Tensor& parameter = parameters_[index].tensor;
  if (elements_ + parameter.numel() > options_.zero.reduce_bucket_size) {
    reduce();
    if (options_.overlaps) {
      current_ = 1 - current_;
    }
  }
  if (uses_buffer() && !is_too_large(parameter)) {
    move_into_buffer(parameter->grad);
  }
  elements_ += parameter.numel();
  held_.push_back(parameter->grad);
  bucket_.push_back(index);
}

void GradientBuckets::move_into_buffer(const Tensor& gradient) {
  runtime_.launch(1);
  set_data(gradient, narrow_as(buffers_[current_], elements_, gradient.sizes()));
}

// reduce_ipg_grads, also with an empty bucket at the end of backward.
void GradientBuckets::reduce() {
  if (!bucket_.empty()) {
    average();
    const Scoped<StreamId> on_stream(runtime_.stream, stream_);
    for (const std::size_t index : bucket_) {
      settle(index);
    }
  }
  held_.clear();
  bucket_.clear();
  elements_ = 0;
}

void GradientBuckets::average() {
  if (!uses_buffer()) {
    average_copies();
    return;
  }
  const Tensor& first = parameters_[bucket_.front()].tensor;
  const bool is_large = is_too_large(first);
  average_in_buffer(is_large ? narrow_as(first->grad, 0, {first.numel()})
                             : narrow_as(buffers_[current_], 0, {elements_}));
}

void GradientBuckets::average_in_buffer(const Tensor& tensor) {
  const Scoped<StreamId> on_stream(runtime_.stream, stream_);
  runtime_.launch(1);  // division by the number of ranks
  if (options_.zero.reduce_scatter) {
    all_reduce_slices(tensor);
  } else {
    group_.all_reduce(tensor).wait();
  }
}

// Neighbours that go to the same rank are one slice.
std::vector<PartitionSlice> GradientBuckets::destinations() const {
  std::vector<PartitionSlice> merged;
  std::int64_t offset = 0;
  for (const std::size_t index : bucket_) {
    const PlacedParameter& placed = parameters_[index];
    for (const PartitionSlice& slice : placed.partition->slices(placed.index)) {
      if (!merged.empty() && merged.back().rank == slice.rank) {
        merged.back().numel += slice.numel;
      } else {
        merged.push_back({slice.rank, offset, slice.numel});
      }
      offset += slice.numel;
    }
  }
  return merged;
}

namespace {

/// Neighbouring slices of a tensor that are reduced together.
struct SlicesOfBucket {
  std::int64_t offset = 0;
  std::int64_t numel = 0;
  std::int64_t first = 0;  ///< elements of the first one

  void add(const PartitionSlice& slice) {
    if (numel == 0) {
      offset = slice.offset;
      first = slice.numel;
    }
    numel += slice.numel;
  }

  /// The first and the others: there may be one for each of a million ranks.
  [[nodiscard]] TensorVector of(const Tensor& tensor) const {
    TensorVector views;
    views.push_back(narrow_as(tensor, offset, {first}));
    if (numel > first) {
      views.push_back(narrow_as(tensor, offset + first, {numel - first}));
    }
    return views;
  }
};

}  // namespace

// allreduce_and_scatter with use_multi_rank_bucket_allreduce: slices are gathered until they exceed
// the bucket's size.
void GradientBuckets::all_reduce_slices(const Tensor& tensor) {
  SlicesOfBucket slices;
  for (const PartitionSlice& slice : destinations()) {
    slices.add(slice);
    if (slices.numel > options_.zero.reduce_bucket_size) {
      all_reduce_copy(slices.of(tensor));
      slices = {};
    }
  }
  if (slices.numel > 0) {
    all_reduce_copy(slices.of(tensor));
  }
}

// allreduce_bucket, then what this rank needs is copied back. A single slice needs no copy.
void GradientBuckets::all_reduce_copy(const TensorVector& slices) {
  Tensor flat = flatten_dense(slices);
  if (slices.size() > 1) {
    runtime_.categorize(flat, Category::communication);
  }
  Tensor sent = options_.reduces_in_fp32 ? eager::to_dtype(flat, DType::fp32) : flat;
  group_.all_reduce(sent).wait();
  eager::end_of_frame(flat, sent);
}

// buffered_reduce_fallback: gradients that lie where autograd made them go through one copy.
void GradientBuckets::average_copies() {
  if (options_.overlaps) {
    runtime_.synchronize();
    clear_reduced_gradients();
  }
  const Scoped<StreamId> on_stream(runtime_.stream, stream_);
  all_reduce_copy(held_);
}

// What happens to a gradient after its reduction. Stage 1 keeps those of other partitions until the
// end of backward.
void GradientBuckets::settle(std::size_t index) {
  const PlacedParameter& placed = parameters_[index];
  if (placed.is_own) {
    if (offload_ != nullptr) {
      const auto slice = placed.partition->slice_of(placed.index, options_.rank);
      offload_->take(placed.tensor, slice, pass_);
    } else if (uses_buffer()) {
      copy_into_partition(placed.tensor->grad);
    }
  } else if (options_.partitions_gradients) {
    if (options_.overlaps && !uses_buffer()) {
      reduced_.push_back(index);
    } else {
      placed.tensor->grad.reset();
    }
  }
}

void GradientBuckets::clear_reduced_gradients() {
  for (const std::size_t index : std::exchange(reduced_, {})) {
    parameters_[index].tensor->grad.reset();
  }
}

// copy_grads_in_partition: room for the whole of each parameter that the partition touches.
void GradientBuckets::copy_into_partition(const Tensor& gradient) {
  if (!own_gradients_.defined()) {
    own_offset_ = 0;
    std::int64_t total = 0;
    for (const PlacedParameter& placed : parameters_) {
      total += placed.is_own ? placed.tensor.numel() : 0;
    }
    const eager::OpScope op(runtime_, "deepspeed::grads_in_partition");
    own_gradients_ = eager::empty(runtime_, {total}, dtype_);
    runtime_.categorize(own_gradients_, Category::gradient);
  }
  runtime_.launch(1);
  set_data(gradient, narrow_as(own_gradients_, own_offset_, gradient.sizes()));
  own_offset_ += gradient.numel();
}

void GradientBuckets::release() {
  buffers_.clear();
  own_gradients_.reset();
}

}  // namespace highwater::deepspeed
