// Fake cuBLASLt: every problem has one algorithm, which needs no workspace. PyTorch and Transformer
// Engine take their own workspaces before they ask.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/versions.hpp"

namespace highwater::fakecuda {
namespace {

constexpr int kSuccess = 0;

// cublasLtMatmulHeuristicResult_t
struct HeuristicResult {
  std::uint64_t algorithm[8];
  std::size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

static_assert(sizeof(HeuristicResult) == 96);

constexpr int kInvalidValue = 7;  // CUBLAS_STATUS_INVALID_VALUE

// cublasLtMatmulAlgoConfigAttributes_t (cublasLt.h of 13.0)
constexpr int kSplitK = 2;
constexpr int kInnerShape = 7;
constexpr int kClusterShape = 8;

/// What an attribute of an algorithm's configuration takes, by the same header: the last two are of
/// 16 bits, the others of 32.
std::size_t attribute_size(int attribute) {
  return attribute == kInnerShape || attribute == kClusterShape ? sizeof(std::uint16_t)
                                                                : sizeof(std::uint32_t);
}

}  // namespace

FAKECUDA_API std::size_t cublasLtGetVersion() {
  return kCublasVersion;
}

FAKECUDA_API int cublasLtMatmulAlgoGetHeuristic(const void*, const void*, const void*, const void*,
                                                const void*, const void*, const void*, int,
                                                HeuristicResult* results, int* found) {
  *results = {.state = kSuccess, .waves = 1};
  *found = 1;
  return kSuccess;
}

// The one algorithm has the configuration that the header calls the default: K is not split, the
// rest is "undefined", "none" or "automatic", which all are 0.
FAKECUDA_API int cublasLtMatmulAlgoConfigGetAttribute(const void*, int attribute, void* value,
                                                      std::size_t room, std::size_t* written) {
  const std::size_t size = attribute_size(attribute);
  if (written != nullptr) {
    *written = size;
  }
  if (room == 0 && written != nullptr) {
    return kSuccess;
  }
  if (value == nullptr || room < size) {
    return kInvalidValue;
  }
  const std::uint32_t number = attribute == kSplitK ? 1 : 0;
  std::memcpy(value, &number, size);
  return kSuccess;
}

FAKECUDA_API int cublasLtMatmulAlgoCheck(const void*, const void*, const void*, const void*,
                                         const void*, const void*, const void*,
                                         HeuristicResult* result) {
  *result = {.state = kSuccess, .waves = 1};
  return kSuccess;
}

}  // namespace highwater::fakecuda
