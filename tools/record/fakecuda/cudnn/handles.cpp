// Versions, errors, handles.
#include <cstddef>
#include <cstdint>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/cudnn/descriptors.hpp"
#include "tools/record/fakecuda/versions.hpp"

namespace highwater::fakecuda {
namespace {

struct CudnnHandle {
  std::uint64_t stream = 0;
};

// major * 10000 + minor * 100 + patch
int version() {
  return settings().cudnn_version > 0 ? settings().cudnn_version : kCudnnVersion;
}

}  // namespace

FAKECUDA_API std::size_t cudnnGetVersion() {
  return static_cast<std::size_t>(version());
}

FAKECUDA_API std::size_t cudnnGetCudartVersion() {
  return kRuntimeVersion;
}

FAKECUDA_API int cudnnGetProperty(int which, int* value) {
  const int parts[] = {version() / 10000, version() / 100 % 100, version() % 100};
  *value = which >= 0 && which < 3 ? parts[which] : 0;
  return kCudnnSuccess;
}

FAKECUDA_API const char* cudnnGetErrorString(int status) {
  return status == kCudnnSuccess ? "CUDNN_STATUS_SUCCESS" : "error of the fake cuDNN";
}

FAKECUDA_API void cudnnGetLastErrorString(char* text, std::size_t size) {
  if (size > 0) {
    *text = '\0';
  }
}

FAKECUDA_API int cudnnCreate(CudnnHandle** handle) {
  *handle = new CudnnHandle;
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnDestroy(CudnnHandle* handle) {
  delete handle;
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnSetStream(CudnnHandle* handle, std::uint64_t stream) {
  handle->stream = stream;
  return kCudnnSuccess;
}

FAKECUDA_API int cudnnGetStream(const CudnnHandle* handle, std::uint64_t* stream) {
  *stream = handle->stream;
  return kCudnnSuccess;
}

}  // namespace highwater::fakecuda
