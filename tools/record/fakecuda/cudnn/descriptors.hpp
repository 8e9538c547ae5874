// The descriptors of cuDNN's older API whose contents are read back.
#pragma once

namespace highwater::fakecuda {

constexpr int kCudnnSuccess = 0;
constexpr int kMaxDimensions = 8;

/// A tensor or a filter.
struct TensorDescriptor {
  int type = 0;
  int dimensions = 0;
  int size[kMaxDimensions] = {};
  int stride[kMaxDimensions] = {};
};

}  // namespace highwater::fakecuda
