// Fake cuFFT: plans without work area.
#include <atomic>
#include <cstddef>

#include "tools/record/fakecuda/api.hpp"

namespace highwater::fakecuda {

FAKECUDA_API int cufftCreate(int* plan) {
  static std::atomic<int> last{0};
  *plan = ++last;
  return 0;
}

FAKECUDA_API int cufftXtMakePlanMany(int, int, long long*, long long*, long long, long long, int,
                                     long long*, long long, long long, int, long long,
                                     std::size_t* work_bytes, int) {
  *work_bytes = 0;
  return 0;
}

}  // namespace highwater::fakecuda
