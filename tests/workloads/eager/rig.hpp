// Symbolic operators and what the caching allocator saw of them, for comparison with recordings of
// PyTorch 2.6 on an A100.
//
// Notation: "+640" is a request for 640 bytes, "-2" frees the request number 2, counted from 0.
// Operands and the gradient of the result were there before; the result goes last.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "workloads/eager/autocast.hpp"
#include "workloads/eager/node.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

inline constexpr DType kFp32 = DType::fp32;
inline constexpr DType kBf16 = DType::bf16;

inline std::string render(const RequestTrace& trace, std::size_t first) {
  std::map<std::uint64_t, std::size_t> numbers;
  std::string text;
  for (std::size_t i = first; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    const auto id = event.allocation.value();
    text += text.empty() ? "" : " ";
    if (event.kind == EventKind::alloc) {
      numbers.emplace(id, numbers.size());
      text += "+" + std::to_string(event.value);
    } else {
      text += "-" + std::to_string(numbers.at(id));
    }
  }
  return text;
}

/// A process whose threads have used cuBLAS before, and what its operands are made of.
class Rig {
 public:
  explicit Rig(Release torch = {2, 6}) : runtime(*find_gpu("a100-80"), torch, {5, 12}) {
    for (const Thread thread : {Thread::autograd, Thread::main}) {
      runtime.thread = thread;
      runtime.has_cublas_workspace() = true;
    }
  }

  Tensor parameter(const Dims& sizes, DType dtype = kFp32) {
    Tensor made = constant(sizes, dtype);
    made->requires_grad = true;
    return made;
  }

  Tensor constant(const Dims& sizes, DType dtype = kFp32) {
    ++operands_;
    return empty(runtime, sizes, dtype);
  }

  Tensor indices(const Dims& sizes) { return constant(sizes, DType::int64); }

  /// What `run` does with memory, and the backward pass from its result with gradient `grad`.
  std::string record(const std::function<Tensor()>& run, const Tensor& grad = {}) {
    Tensor result = run();
    return finish(std::move(result), grad);
  }

  std::string record_autocast(const std::function<Tensor()>& run, const Tensor& grad) {
    Tensor result;
    {
      const AutocastContext autocast(runtime, kBf16);
      result = run();
    }
    return finish(std::move(result), grad);
  }

  Runtime runtime;

 private:
  std::string finish(Tensor result, const Tensor& grad) {
    if (result.defined() && result.requires_grad()) {
      backward(result, grad);
    }
    result.reset();
    return render(runtime.take_trace(), operands_);
  }

  std::size_t operands_ = 0;  ///< each is one event
};

}  // namespace highwater::eager
