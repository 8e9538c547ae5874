// Fake cuBLASLt: every problem has one algorithm, which needs no workspace. PyTorch takes its own
// workspace before it asks.
#include <cstddef>
#include <cstdint>

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

}  // namespace

FAKECUDA_API std::size_t cublasLtGetVersion() {
  return kRuntimeVersion / 1000 * 10000;
}

FAKECUDA_API int cublasLtMatmulAlgoGetHeuristic(const void*, const void*, const void*, const void*,
                                                const void*, const void*, const void*, int,
                                                HeuristicResult* results, int* found) {
  *results = {.state = kSuccess, .waves = 1};
  *found = 1;
  return kSuccess;
}

FAKECUDA_API int cublasLtMatmulAlgoCheck(const void*, const void*, const void*, const void*,
                                         const void*, const void*, const void*,
                                         HeuristicResult* result) {
  *result = {.state = kSuccess, .waves = 1};
  return kSuccess;
}

}  // namespace highwater::fakecuda
