// Tensor and filter descriptors keep their shapes; the other descriptors are stubs that make an
// object.
#include <algorithm>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/cudnn/descriptors.hpp"

namespace highwater::fakecuda {
namespace {

void set_shape(TensorDescriptor& tensor, int type, int dimensions, const int* size,
               const int* stride) {
  tensor = {.type = type, .dimensions = dimensions};
  const int count = std::min(dimensions, kMaxDimensions);
  std::copy_n(size, count, tensor.size);
  if (stride != nullptr) {
    std::copy_n(stride, count, tensor.stride);
  }
}

}  // namespace

FAKECUDA_API int cudnnCreateTensorDescriptor(TensorDescriptor** tensor) {
  *tensor = new TensorDescriptor;
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnDestroyTensorDescriptor(TensorDescriptor* tensor) {
  delete tensor;
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnSetTensorNdDescriptor(TensorDescriptor* tensor, int type, int dimensions,
                                            const int* size, const int* stride) {
  set_shape(*tensor, type, dimensions, size, stride);
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnGetTensorNdDescriptor(const TensorDescriptor* tensor, int asked, int* type,
                                            int* dimensions, int* size, int* stride) {
  *type = tensor->type;
  *dimensions = tensor->dimensions;
  std::copy_n(tensor->size, std::min(asked, kMaxDimensions), size);
  std::copy_n(tensor->stride, std::min(asked, kMaxDimensions), stride);
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnCreateFilterDescriptor(TensorDescriptor** filter) {
  return cudnnCreateTensorDescriptor(filter);
}

FAKECUDA_API int cudnnDestroyFilterDescriptor(TensorDescriptor* filter) {
  return cudnnDestroyTensorDescriptor(filter);
}

FAKECUDA_API int cudnnSetFilterNdDescriptor(TensorDescriptor* filter, int type, int, int dimensions,
                                            const int* size) {
  set_shape(*filter, type, dimensions, size, nullptr);
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnGetFilterNdDescriptor(const TensorDescriptor* filter, int asked, int* type,
                                            int* format, int* dimensions, int* size) {
  *type = filter->type;
  *format = 0;
  *dimensions = filter->dimensions;
  std::copy_n(filter->size, std::min(asked, kMaxDimensions), size);
  return kCudnnSuccess;
}

}  // namespace highwater::fakecuda
