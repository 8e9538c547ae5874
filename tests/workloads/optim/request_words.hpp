// Parameters whose optimizer is watched, and what it asks the allocator for, as words: "+64"
// allocates 64 bytes, "-2" frees the block that the third allocation since the start made.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::optim_tests {

using eager::Dims;
using eager::Runtime;
using eager::Tensor;

struct Model {
  Runtime runtime;
  std::vector<Tensor> params;

  explicit Model(const std::vector<std::pair<Dims, DType>>& shapes, Release torch = {2, 6},
                 const Gpu& gpu = default_gpu())
      : runtime(gpu, torch, {5, 12}) {
    runtime.has_cublas_workspace() = true;  // made by the forward pass
    for (const auto& [sizes, dtype] : shapes) {
      params.push_back(eager::empty(runtime, sizes, dtype));
      params.back()->requires_grad = true;
    }
  }

  void make_grads() {
    for (auto& param : params) {
      if (!param->grad.defined()) {
        param->grad = eager::empty_like(param);
      }
    }
  }

  // Makes what `work` asks for one of the recorded parts.
  template <class Work>
  void record(Work work) {
    runtime.mark_phase("recorded");
    work();
    runtime.mark_phase("rest");
  }
};

inline bool is_phase(const RequestTrace& trace, const Event& event, std::string_view name) {
  return event.kind == EventKind::phase &&
         trace.tables.strings[StringId(static_cast<std::uint32_t>(event.value))] == name;
}

// The recorded parts, one string for each; ends the model's trace.
inline std::vector<std::string> recorded(Model& model) {
  const RequestTrace trace = model.runtime.take_trace();
  std::vector<std::string> parts;
  bool is_inside = false;
  for (const auto& event : trace.events) {
    if (event.kind == EventKind::phase) {
      is_inside = is_phase(trace, event, "recorded");
      if (is_inside) {
        parts.emplace_back();
      }
    } else if (is_inside) {
      const bool is_alloc = event.kind == EventKind::alloc;
      parts.back() += parts.back().empty() ? "" : " ";
      parts.back() += is_alloc ? "+" + std::to_string(event.value)
                               : "-" + std::to_string(event.allocation.value());
    }
  }
  return parts;
}

}  // namespace highwater::optim_tests
