// Fake cuBLAS: handles keep their stream and modes; computations are stubs. PyTorch sets the
// workspace itself, from its caching allocator.
#include <cstdint>

#include "tools/record/fakecuda/api.hpp"

namespace highwater::fakecuda {
namespace {

constexpr int kSuccess = 0;

struct CublasHandle {
  std::uint64_t stream = 0;
  int pointer_mode = 0;
  int math_mode = 0;
};

}  // namespace

FAKECUDA_API int cublasCreate_v2(CublasHandle** handle) {
  *handle = new CublasHandle;
  return kSuccess;
}

FAKECUDA_API int cublasDestroy_v2(CublasHandle* handle) {
  delete handle;
  return kSuccess;
}

FAKECUDA_API int cublasSetStream_v2(CublasHandle* handle, std::uint64_t stream) {
  handle->stream = stream;
  return kSuccess;
}

FAKECUDA_API int cublasGetStream_v2(const CublasHandle* handle, std::uint64_t* stream) {
  *stream = handle->stream;
  return kSuccess;
}

FAKECUDA_API int cublasSetPointerMode_v2(CublasHandle* handle, int mode) {
  handle->pointer_mode = mode;
  return kSuccess;
}

FAKECUDA_API int cublasGetPointerMode_v2(const CublasHandle* handle, int* mode) {
  *mode = handle->pointer_mode;
  return kSuccess;
}

FAKECUDA_API int cublasSetMathMode(CublasHandle* handle, int mode) {
  handle->math_mode = mode;
  return kSuccess;
}

FAKECUDA_API int cublasGetMathMode(const CublasHandle* handle, int* mode) {
  *mode = handle->math_mode;
  return kSuccess;
}

}  // namespace highwater::fakecuda
