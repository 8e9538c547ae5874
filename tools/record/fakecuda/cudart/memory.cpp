// Device memory, and what an address belongs to.
#include <cstdint>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/contents.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/device_memory.hpp"
#include "tools/record/fakecuda/core/host_memory.hpp"
#include "tools/record/fakecuda/core/streams.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"

namespace highwater::fakecuda {
namespace {

int runtime_type(HostMemory kind) {
  return kind == HostMemory::managed ? abi::kMemoryTypeManaged : abi::kMemoryTypeHost;
}

abi::PointerAttributes attributes_of(void* address) {
  if (const auto device = device_of(address)) {
    return {.type = abi::kMemoryTypeDevice, .device = *device, .device_pointer = address};
  }
  if (const auto kind = host_memory_at(address)) {
    return {.type = runtime_type(*kind),
            .device = current_device(),
            .device_pointer = address,
            .host_pointer = address};
  }
  constexpr int kNoDevice = -2;  // cudaInvalidDeviceId
  return {.type = abi::kMemoryTypeUnregistered, .device = kNoDevice, .host_pointer = address};
}

}  // namespace

FAKECUDA_API abi::Error cudaMalloc(std::uint64_t* address, std::size_t size) {
  *address = 0;
  if (size == 0) {
    return abi::kSuccess;
  }
  make_active(current_device());
  const auto made = allocate(current_device(), size);
  if (!made) {
    return fail(abi::kErrorMemoryAllocation);
  }
  *address = *made;
  return abi::kSuccess;
}

// Rows begin at multiples of 512 bytes, as on current GPUs.
FAKECUDA_API abi::Error cudaMallocPitch(std::uint64_t* address, std::size_t* pitch,
                                        std::size_t width, std::size_t height) {
  constexpr std::size_t kPitch = 512;
  *pitch = (width + kPitch - 1) / kPitch * kPitch;
  return cudaMalloc(address, *pitch * height);
}

FAKECUDA_API abi::Error cudaFree(std::uint64_t address) {
  if (address == 0) {
    make_active(current_device());  // the idiom that creates the context
    return abi::kSuccess;
  }
  finish_device(current_device());                    // cudaFree waits for the device
  if (free_host(reinterpret_cast<void*>(address))) {  // managed memory
    return abi::kSuccess;
  }
  const auto extent = extent_around(address);
  if (!deallocate(address)) {
    return fail(abi::kErrorInvalidValue);
  }
  forget_contents(address, extent->size);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  make_active(current_device());
  const MemoryInfo info = memory_info(current_device());
  *free = info.free;
  *total = info.total;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaPointerGetAttributes(abi::PointerAttributes* attributes,
                                                 void* address) {
  *attributes = attributes_of(address);
  return abi::kSuccess;
}

}  // namespace highwater::fakecuda
