// Pinned, managed and registered host memory.
#include <cstdint>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/host_memory.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"

namespace highwater::fakecuda {
namespace {

abi::Error allocate_host_memory(void** address, std::size_t size, HostMemory kind) {
  *address = allocate_host(size, kind);
  return *address == nullptr ? fail(abi::kErrorMemoryAllocation) : abi::kSuccess;
}

}  // namespace

FAKECUDA_API abi::Error cudaHostAlloc(void** address, std::size_t size, unsigned) {
  return allocate_host_memory(address, size, HostMemory::pinned);
}

FAKECUDA_API abi::Error cudaMallocHost(void** address, std::size_t size) {
  return allocate_host_memory(address, size, HostMemory::pinned);
}

FAKECUDA_API abi::Error cudaMallocManaged(void** address, std::size_t size, unsigned) {
  return allocate_host_memory(address, size, HostMemory::managed);
}

FAKECUDA_API abi::Error cudaFreeHost(void* address) {
  return address == nullptr || free_host(address) ? abi::kSuccess : fail(abi::kErrorInvalidValue);
}

FAKECUDA_API abi::Error cudaHostRegister(void* address, std::size_t size, unsigned) {
  register_host(address, size);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaHostUnregister(void* address) {
  return unregister_host(address) ? abi::kSuccess : fail(abi::kErrorInvalidValue);
}

FAKECUDA_API abi::Error cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return abi::kSuccess;
}

}  // namespace highwater::fakecuda
