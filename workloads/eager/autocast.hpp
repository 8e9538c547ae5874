// torch.autocast: which operands are cast to what (ATen/autocast_mode.{h,cpp} of PyTorch 2.6).
//
// Weights (fp32 leaves that require a gradient and are not views) are cast once and cached until
// the outermost context ends; everything else is cast at every use.
#pragma once

#include "workloads/eager/tensor.hpp"

namespace highwater::eager {

/// The autocast kernel of one operator: casts operands, and inside it autocast is off. Operands
/// are cast from the last to the first: PyTorch's wrapper casts in a call's argument list, which
/// its compiler evaluates from the right.
class AutocastOp {
 public:
  explicit AutocastOp(Runtime& runtime);
  AutocastOp(const AutocastOp&) = delete;
  AutocastOp& operator=(const AutocastOp&) = delete;
  ~AutocastOp();

  /// The operand for an operator of the lower-precision list.
  [[nodiscard]] Tensor to_lower(const Tensor& operand) const;

  /// The operand for an operator of the fp32 list.
  [[nodiscard]] Tensor to_fp32(const Tensor& operand) const;

  [[nodiscard]] bool active() const { return active_; }

 private:
  [[nodiscard]] Tensor cast(const Tensor& operand, DType dtype) const;

  Runtime& runtime_;
  bool active_;
};

enum class AutocastCache : std::uint8_t { enabled, disabled };

/// `with torch.autocast("cuda", dtype)`: enables it for a scope and drops the cache at its end.
class AutocastContext {
 public:
  AutocastContext(Runtime& runtime, DType dtype, AutocastCache cache = AutocastCache::enabled);
  AutocastContext(const AutocastContext&) = delete;
  AutocastContext& operator=(const AutocastContext&) = delete;
  ~AutocastContext();

 private:
  Runtime& runtime_;
  bool was_enabled_;
  DType dtype_before_;
};

/// The end of the outermost context, for code that runs inside it in this program and after it in
/// Python: casts end, and the cache is dropped.
void end_autocast(Runtime& runtime);

}  // namespace highwater::eager
