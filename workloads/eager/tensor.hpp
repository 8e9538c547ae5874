// Symbolic tensors: shape, strides, element type and a counted storage, but no data.
//
// A Tensor is a handle, like a Python variable: copying it adds a reference, and when the last
// handle, saved tensor or graph edge is released, the storage's block is freed in the trace at
// once.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/container/small_vector.hpp>

#include "traces/event.hpp"
#include "workloads/eager/dims.hpp"
#include "workloads/eager/ref.hpp"
#include "workloads/plan/dtype.hpp"

namespace highwater::eager {

class Runtime;
class Node;
struct TensorImpl;
struct DTensorSpec;

enum class Place : std::uint8_t { cuda, host, meta };

/// One of the GPUs of a process. A trace is of one of them.
enum class DeviceIndex : std::uint8_t {};

inline constexpr DeviceIndex kFirstDevice{0};

/// One block of the caching allocator, or host memory, which leaves no trace.
struct Storage : RefCounted {
  Runtime* runtime = nullptr;
  std::int64_t bytes = 0;
  std::uint64_t event = 0;  ///< index of its allocation in the trace
  AllocationId allocation;  ///< on the host: its number in Runtime::host_memory, if it is counted
  StreamId stream;          ///< on which the block was requested, so whose pool it belongs to
  std::uint16_t equal_blocks = 0;  ///< that it stands for (Event::equal_blocks)
  Place place = Place::cuda;
  DeviceIndex device = kFirstDevice;  ///< of a place on a GPU
  bool has_block = false;  ///< false for zero bytes, meta tensors, uncounted host memory and GPUs
                           ///< that are not traced
  boost::container::small_vector<StreamId, 1> used_on;  ///< other streams (record_stream)

  static void destroy(Storage* storage);
};

/// A counted handle to a TensorImpl; empty like an undefined at::Tensor.
class Tensor {
 public:
  Tensor() = default;

  explicit Tensor(Ref<TensorImpl> impl) : impl_(std::move(impl)) {}

  [[nodiscard]] bool defined() const { return static_cast<bool>(impl_); }

  TensorImpl* operator->() const { return impl_.get(); }

  TensorImpl& operator*() const { return *impl_; }

  [[nodiscard]] TensorImpl* get() const { return impl_.get(); }

  void reset() { impl_.reset(); }

  [[nodiscard]] const Dims& sizes() const;
  [[nodiscard]] const Dims& strides() const;
  [[nodiscard]] std::int64_t size(std::int64_t dim) const;

  [[nodiscard]] std::size_t dim() const { return sizes().size(); }

  [[nodiscard]] std::int64_t numel() const { return element_count(sizes()); }

  [[nodiscard]] DType dtype() const;
  [[nodiscard]] Runtime& runtime() const;
  [[nodiscard]] Place place() const;
  [[nodiscard]] bool requires_grad() const;
  [[nodiscard]] bool is_contiguous() const;
  [[nodiscard]] bool is_leaf() const;
  [[nodiscard]] std::uint32_t use_count() const;

 private:
  Ref<TensorImpl> impl_;
};

/// Frees what the locals of a Python frame hold when the frame ends, in the given order: arguments
/// first, then the other variables by their first assignment.
template <class... Tensors>
void end_of_frame(Tensors&... locals) {
  (locals.reset(), ...);
}

/// Empties a list as CPython does a list or a tuple: the last item goes first.
template <class List>
void release_list(List& list) {
  while (!list.empty()) {
    list.pop_back();
  }
}

using TensorList = boost::container::small_vector<Tensor, 4>;

struct TensorImpl : RefCounted {
  Ref<Storage> storage;
  Dims sizes;
  Dims strides;
  std::int64_t offset = 0;  ///< of the first element from the storage's start, in elements
  DType dtype = DType::fp32;
  bool requires_grad = false;       ///< of a leaf; others have a grad_fn
  std::optional<DType> grad_dtype;  ///< of a leaf: gradients are cast to it (Tensor.grad_dtype)
  std::uint32_t output_nr = 0;
  Ref<Node> grad_fn;
  Node* accumulator = nullptr;        ///< the leaf's AccumulateGrad node while a graph holds it
  Tensor base;                        ///< of a view: its base tensor (DifferentiableViewMeta)
  Tensor grad;                        ///< .grad of a leaf
  const DTensorSpec* spec = nullptr;  ///< of a parameter that is a DTensor; its owner keeps it
  bool takes_no_sum = false;          ///< a gradient to which autograd adds no other in place
  bool is_target = false;             ///< of a parameter: an optimizer of matrices takes it

  static void destroy(TensorImpl* impl);
};

inline const Dims& Tensor::sizes() const {
  return impl_->sizes;
}

inline const Dims& Tensor::strides() const {
  return impl_->strides;
}

inline std::int64_t Tensor::size(std::int64_t dim) const {
  return impl_->sizes[wrap(dim, impl_->sizes.size())];
}

inline DType Tensor::dtype() const {
  return impl_->dtype;
}

inline Runtime& Tensor::runtime() const {
  return *impl_->storage->runtime;
}

inline Place Tensor::place() const {
  return impl_->storage->place;
}

inline bool Tensor::requires_grad() const {
  return impl_->requires_grad || impl_->grad_fn;
}

inline bool Tensor::is_contiguous() const {
  return eager::is_contiguous(impl_->sizes, impl_->strides);
}

inline bool Tensor::is_leaf() const {
  return !impl_->grad_fn;
}

inline std::uint32_t Tensor::use_count() const {
  return impl_->use_count();
}

}  // namespace highwater::eager
