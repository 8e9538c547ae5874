#include "workloads/eager/autocast.hpp"

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::eager {

AutocastOp::AutocastOp(Runtime& runtime) : runtime_(runtime), active_(runtime.autocast.enabled) {
  runtime_.autocast.enabled = false;
}

AutocastOp::~AutocastOp() {
  runtime_.autocast.enabled = active_;
}

Tensor AutocastOp::to_lower(const Tensor& operand) const {
  return cast(operand, runtime_.autocast.dtype);
}

Tensor AutocastOp::to_fp32(const Tensor& operand) const {
  return cast(operand, DType::fp32);
}

// autocast_mode.cpp: cached_cast.
Tensor AutocastOp::cast(const Tensor& operand, DType dtype) const {
  if (!active_ || !operand.defined() || !is_floating_point(operand.dtype()) ||
      operand.dtype() == dtype) {
    return operand;
  }
  auto& autocast = runtime_.autocast;
  const bool cacheable = autocast.caches && dtype == autocast.dtype &&
                         operand.dtype() == DType::fp32 && operand.requires_grad() &&
                         operand.is_leaf() && !operand->base.defined();
  if (!cacheable) {
    return to_dtype(operand, dtype);
  }
  const auto found = autocast.cached.find(operand.get());
  if (found != autocast.cached.end()) {
    return autocast.cache[found->second].second;
  }
  Tensor copy = to_dtype(operand, dtype);
  runtime_.categorize(copy, Category::weight_copy);
  autocast.cached.emplace(operand.get(), autocast.cache.size());
  autocast.cache.emplace_back(operand, copy);
  return copy;
}

AutocastContext::AutocastContext(Runtime& runtime, DType dtype, AutocastCache cache)
    : runtime_(runtime),
      was_enabled_(runtime.autocast.enabled),
      dtype_before_(runtime.autocast.dtype) {
  runtime.autocast.enabled = true;
  runtime.autocast.dtype = dtype;
  runtime.autocast.caches = cache == AutocastCache::enabled;
}

// PyTorch clears a hash table keyed by host addresses; any order is possible.
void end_autocast(Runtime& runtime) {
  runtime.autocast.cached.clear();
  runtime.autocast.cache.clear();
  runtime.autocast.enabled = false;
}

AutocastContext::~AutocastContext() {
  auto& autocast = runtime_.autocast;
  if (!was_enabled_) {
    end_autocast(runtime_);
  }
  autocast.enabled = was_enabled_;
  autocast.dtype = dtype_before_;
}

}  // namespace highwater::eager
