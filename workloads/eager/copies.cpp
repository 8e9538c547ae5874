// Copies: conversions, clones, concatenation, padding (ATen/native/TensorConversions.cpp,
// TensorFactories.cpp, TensorShape.cpp, PadNd.cpp of PyTorch 2.6).
#include <algorithm>
#include <utility>

#include "workloads/eager/autocast.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

namespace {

// _to_copy with preserved memory format: dense layouts survive, others lose their gaps.
Tensor converted(const Tensor& self, DType dtype) {
  OpScope op(self.runtime(), "_to_copy");
  self.runtime().read(self);
  const bool dense = is_non_overlapping_and_dense(self.sizes(), self.strides());
  return empty_strided(self.runtime(), self.sizes(),
                       dense ? self.strides() : dense_strides(self.sizes(), self.strides()), dtype);
}

Tensor copied_to(const Tensor& self, DeviceIndex device) {
  const OnDevice place(self.runtime(), device);
  return converted(self, self.dtype());
}

// Copy.cu: a copy between blocks of the same layout is a plain memory copy, not a kernel.
int copy_kernels(bool is_same_layout) {
  return is_same_layout ? 0 : 1;
}

// cat skips tensors of shape [0], whatever the shape of the others; their type still counts.
bool is_legacy_empty(const Tensor& tensor) {
  return tensor.dim() == 1 && tensor.numel() == 0;
}

TensorList narrow_back(const TensorList& grads, const Node& node,
                       const boost::container::small_vector<std::int64_t, 4>& lengths,
                       std::size_t dim) {
  TensorList out(lengths.size());
  std::int64_t start = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (node.needs(i)) {
      out[i] = slice(grads[0], static_cast<std::int64_t>(dim), start, start + lengths[i]);
    }
    start += lengths[i];
  }
  return out;
}

// Autocast's promote list: all operands get the widest floating type among them.
TensorList widest(const AutocastOp& cast, std::span<const Tensor> operands) {
  const bool has_fp32 = std::ranges::any_of(
      operands, [](const Tensor& operand) { return operand.dtype() == DType::fp32; });
  TensorList result;
  for (const auto& operand : operands) {
    result.push_back(has_fp32 ? cast.to_fp32(operand) : cast.to_lower(operand));
  }
  return result;
}

}  // namespace

void name_device(Runtime& runtime, bool is_dtensor) {
  if (is_dtensor && std::exchange(runtime.lacks_fake_context, false)) {
    init_gpu_context(runtime);
  }
}

// It should make a tensor if the device is the accelerator; since 2.12 it compares a device with a
// word, and never does.
void init_gpu_context(Runtime& runtime) {
  if (runtime.torch < Release{2, 12}) {
    const OpScope op(runtime, "init_gpu_context", 0);
    empty(runtime, {1}, DType::fp32);
  }
}

Tensor type_as(const Tensor& self, const Tensor& other) {
  if (self.dtype() != other.dtype()) {
    name_device(self.runtime(), self.runtime().dispatches_dtensors);
  }
  return to_dtype(self, other.dtype());
}

Tensor to_dtype(const Tensor& self, DType dtype) {
  if (self.dtype() == dtype) {
    return self;
  }
  const auto node = begin_node(self.runtime(), "ToCopyBackward0", {self});
  Tensor result = converted(self, dtype);
  finish_node(node, result, [own = self.dtype()](Node& self_node, TensorList& grads) {
    if (!grads[0].defined()) {  // of a copy that nothing was computed from
      return TensorList(1);
    }
    name_device(*self_node.runtime, self_node.input_metadata[0].is_dtensor);
    return TensorList{to_dtype(grads[0], own)};
  });
  return result;
}

Tensor to_cuda(const Tensor& self) {
  return converted(self, self.dtype());
}

Tensor to_device(const Tensor& self, DeviceIndex device) {
  const bool stays = !self.defined() || self.place() != Place::cuda;
  if (stays || self->storage->device == device) {
    return self;
  }
  const auto node = begin_node(self.runtime(), "ToCopyBackward0", {self});
  Tensor result = copied_to(self, device);
  if (node) {
    node->device = device;
  }
  finish_node(node, result, [own = self->storage->device](Node&, TensorList& grads) {
    return TensorList{grads[0].defined() ? copied_to(grads[0], own) : Tensor{}};
  });
  return result;
}

Tensor clone(const Tensor& self) {
  const auto node = begin_node(self.runtime(), "CloneBackward0", {self});
  OpScope op(self.runtime(), "clone",
             copy_kernels(is_non_overlapping_and_dense(self.sizes(), self.strides())));
  Tensor result = empty_like(self);
  finish_node(node, result, [](Node&, TensorList& grads) { return TensorList{grads[0]}; });
  return result;
}

Tensor clone_contiguous(const Tensor& self) {
  const auto node = begin_node(self.runtime(), "CloneBackward0", {self});
  OpScope op(self.runtime(), "clone", copy_kernels(self.is_contiguous()));
  Tensor result = empty(self.runtime(), self.sizes(), self.dtype());
  finish_node(node, result, [](Node&, TensorList& grads) { return TensorList{grads[0]}; });
  return result;
}

Tensor contiguous(const Tensor& self) {
  return self.is_contiguous() ? self : clone_contiguous(self);
}

Tensor cat(std::span<const Tensor> tensors, std::int64_t dim) {
  Runtime& runtime = tensors.front().runtime();
  const auto& shaped = *std::ranges::find_if_not(tensors, is_legacy_empty);
  const auto at = wrap(dim, shaped.dim());
  const auto node = begin_node(runtime, "CatBackward0", tensors);
  OpScope op(runtime, "cat");
  Dims sizes = shaped.sizes();
  sizes[at] = 0;
  DType dtype = tensors.front().dtype();
  boost::container::small_vector<std::int64_t, 4> lengths;
  for (const auto& tensor : tensors) {
    lengths.push_back(is_legacy_empty(tensor) ? 0 : tensor.sizes()[at]);
    sizes[at] += lengths.back();
    dtype = wider(dtype, tensor.dtype());
  }
  Tensor result = empty(runtime, sizes, dtype);
  finish_node(node, result, [lengths, at](Node& own, TensorList& grads) {
    return narrow_back(grads, own, lengths, at);
  });
  return result;
}

Tensor stack(std::span<const Tensor> operands, std::int64_t dim) {
  Runtime& runtime = operands.front().runtime();
  const AutocastOp cast(runtime);
  const TensorList promoted = widest(cast, operands);
  const std::span<const Tensor> tensors(promoted.data(), promoted.size());
  const auto node = begin_node(runtime, "StackBackward0", tensors);
  OpScope op(runtime, "stack");
  Dims sizes = tensors.front().sizes();
  const auto at = wrap(dim, sizes.size() + 1);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(at),
               static_cast<std::int64_t>(tensors.size()));
  Tensor result = empty(runtime, sizes, tensors.front().dtype());
  finish_node(node, result, [at](Node&, TensorList& grads) {
    return unbind(grads[0], static_cast<std::int64_t>(at));
  });
  return result;
}

Tensor constant_pad(const Tensor& self, const Dims& pads) {
  const auto node = begin_node(self.runtime(), "ConstantPadNdBackward0", {self});
  OpScope op(self.runtime(), "constant_pad_nd", 2);
  Dims sizes = self.sizes();
  for (std::size_t i = 0; i < pads.size(); i += 2) {
    sizes[sizes.size() - 1 - i / 2] += pads[i] + pads[i + 1];
  }
  Tensor result = empty(self.runtime(), sizes, self.dtype());
  finish_node(node, result, [pads](Node&, TensorList& grads) {
    Dims negative = pads;
    std::ranges::transform(negative, negative.begin(), [](std::int64_t pad) { return -pad; });
    return TensorList{constant_pad(grads[0], negative)};
  });
  return result;
}

}  // namespace highwater::eager
