// Versions, errors, handles.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/cudnn/descriptors.hpp"
#include "tools/record/fakecuda/cudnn/last_error.hpp"
#include "tools/record/fakecuda/cudnn/real_library.hpp"
#include "tools/record/fakecuda/versions.hpp"

namespace highwater::fakecuda {
namespace {

struct CudnnHandle {
  std::uint64_t stream = 0;
};

// major * 10000 + minor * 100 + patch. PyTorch and cudnn-frontend choose by it, so it is that of
// the library that PyTorch was installed with, unless another one is asked in its place.
int version() {
  if (settings().cudnn_version > 0) {
    return settings().cudnn_version;
  }
  const int installed = settings().cudnn_is_other ? 0 : library_version();
  return installed > 0 ? installed : kCudnnVersion;
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
    const std::string& last = last_error_text();
    const std::size_t taken = std::min(last.size(), size - 1);
    std::memcpy(text, last.data(), taken);
    text[taken] = '\0';
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
