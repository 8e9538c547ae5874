// The older convolution API: one algorithm without workspace; and sizes of state.
#include <cstddef>
#include <cstring>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/cudnn/descriptors.hpp"

namespace highwater::fakecuda {
namespace {

// cudnnConvolutionFwdAlgoPerf_t and its two siblings
struct AlgorithmPerformance {
  int algorithm;
  int status;
  float time;
  std::size_t memory;
  int determinism;
  int math_type;
  int reserved[3];
};

static_assert(sizeof(AlgorithmPerformance) == 48);

int put_one(int* found, AlgorithmPerformance* result) {
  *result = {};
  *found = 1;
  return kCudnnSuccess;
}

}  // namespace

FAKECUDA_API int cudnnGetConvolutionForwardAlgorithm_v7(const void*, const void*, const void*,
                                                        const void*, const void*, int, int* found,
                                                        AlgorithmPerformance* result) {
  return put_one(found, result);
}

FAKECUDA_API int cudnnGetConvolutionBackwardDataAlgorithm_v7(const void*, const void*, const void*,
                                                             const void*, const void*, int,
                                                             int* found,
                                                             AlgorithmPerformance* result) {
  return put_one(found, result);
}

FAKECUDA_API int cudnnGetConvolutionBackwardFilterAlgorithm_v7(const void*, const void*,
                                                               const void*, const void*,
                                                               const void*, int, int* found,
                                                               AlgorithmPerformance* result) {
  return put_one(found, result);
}

FAKECUDA_API int cudnnFindConvolutionForwardAlgorithmEx(const void*, const void*, const void*,
                                                        const void*, const void*, const void*,
                                                        const void*, void*, int, int* found,
                                                        AlgorithmPerformance* result, void*,
                                                        std::size_t) {
  return put_one(found, result);
}

FAKECUDA_API int cudnnFindConvolutionBackwardDataAlgorithmEx(const void*, const void*, const void*,
                                                             const void*, const void*, const void*,
                                                             const void*, void*, int, int* found,
                                                             AlgorithmPerformance* result, void*,
                                                             std::size_t) {
  return put_one(found, result);
}

FAKECUDA_API int cudnnFindConvolutionBackwardFilterAlgorithmEx(
    const void*, const void*, const void*, const void*, const void*, const void*, const void*,
    void*, int, int* found, AlgorithmPerformance* result, void*, std::size_t) {
  return put_one(found, result);
}

// One generator state of 16 bytes for each resident thread.
FAKECUDA_API int cudnnDropoutGetStatesSize(const void*, std::size_t* bytes) {
  const GpuProfile& gpu = settings().gpu;
  *bytes = static_cast<std::size_t>(gpu.multiprocessors) *
           static_cast<std::size_t>(gpu.threads_per_multiprocessor) * 16;
  return kCudnnSuccess;
}

}  // namespace highwater::fakecuda
