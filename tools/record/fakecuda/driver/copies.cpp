// Copies and fills by the driver.
#include "tools/record/fakecuda/core/copies.hpp"

#include "tools/record/fakecuda/abi/driver.hpp"
#include "tools/record/fakecuda/api.hpp"

namespace highwater::fakecuda {
namespace {

void* as_pointer(abi::DevicePointer address) {
  return reinterpret_cast<void*>(address);
}

abi::Result fill(abi::DevicePointer to, std::size_t size) {
  constexpr int kUnknown = 0;  // device memory forgets what it held, whatever the pattern
  fill_memory(as_pointer(to), kUnknown, size);
  return abi::kResultSuccess;
}

}  // namespace

FAKECUDA_API abi::Result cuMemcpyHtoD_v2(abi::DevicePointer to, const void* from,
                                         std::size_t size) {
  copy_memory(as_pointer(to), from, size);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemcpyHtoDAsync_v2(abi::DevicePointer to, const void* from,
                                              std::size_t size, abi::Handle) {
  return cuMemcpyHtoD_v2(to, from, size);
}

FAKECUDA_API abi::Result cuMemcpyDtoH_v2(void* to, abi::DevicePointer from, std::size_t size) {
  copy_memory(to, as_pointer(from), size);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemcpyDtoHAsync_v2(void* to, abi::DevicePointer from, std::size_t size,
                                              abi::Handle) {
  return cuMemcpyDtoH_v2(to, from, size);
}

FAKECUDA_API abi::Result cuMemcpyDtoD_v2(abi::DevicePointer to, abi::DevicePointer from,
                                         std::size_t size) {
  copy_memory(as_pointer(to), as_pointer(from), size);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemcpyDtoDAsync_v2(abi::DevicePointer to, abi::DevicePointer from,
                                              std::size_t size, abi::Handle) {
  return cuMemcpyDtoD_v2(to, from, size);
}

FAKECUDA_API abi::Result cuMemcpy(abi::DevicePointer to, abi::DevicePointer from,
                                  std::size_t size) {
  return cuMemcpyDtoD_v2(to, from, size);
}

FAKECUDA_API abi::Result cuMemcpyAsync(abi::DevicePointer to, abi::DevicePointer from,
                                       std::size_t size, abi::Handle) {
  return cuMemcpyDtoD_v2(to, from, size);
}

FAKECUDA_API abi::Result cuMemsetD8_v2(abi::DevicePointer to, unsigned char, std::size_t count) {
  return fill(to, count);
}

FAKECUDA_API abi::Result cuMemsetD8Async(abi::DevicePointer to, unsigned char, std::size_t count,
                                         abi::Handle) {
  return fill(to, count);
}

FAKECUDA_API abi::Result cuMemsetD32_v2(abi::DevicePointer to, unsigned, std::size_t count) {
  return fill(to, 4 * count);
}

FAKECUDA_API abi::Result cuMemsetD32Async(abi::DevicePointer to, unsigned, std::size_t count,
                                          abi::Handle) {
  return fill(to, 4 * count);
}

}  // namespace highwater::fakecuda
