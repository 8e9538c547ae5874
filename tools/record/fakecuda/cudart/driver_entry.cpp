// The driver's functions, as the runtime hands them out.

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/entry_points.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"
#include "tools/record/fakecuda/versions.hpp"

namespace highwater::fakecuda {

FAKECUDA_API abi::Error cudaGetDriverEntryPointByVersion(const char* name, void** function,
                                                         unsigned version, unsigned long long,
                                                         int* status) {
  *function = find_entry_point(name, static_cast<int>(version));
  if (status != nullptr) {
    *status = *function == nullptr ? abi::kEntryPointSymbolNotFound : abi::kEntryPointSuccess;
  }
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaGetDriverEntryPoint(const char* name, void** function,
                                                unsigned long long flags, int* status) {
  return cudaGetDriverEntryPointByVersion(name, function, kRuntimeVersion, flags, status);
}

}  // namespace highwater::fakecuda
