// Virtual memory management: the basis of PyTorch's expandable segments.
#include "tools/record/fakecuda/abi/driver.hpp"
#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/contents.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/device_memory.hpp"

namespace highwater::fakecuda {

FAKECUDA_API abi::Result cuMemGetAllocationGranularity(std::size_t* granularity,
                                                       const abi::AllocationProperties*, int) {
  *granularity = kGranularity;
  return abi::kResultSuccess;
}

// A reservation names no device: the thread's current one is meant.
FAKECUDA_API abi::Result cuMemAddressReserve(abi::DevicePointer* address, std::size_t size,
                                             std::size_t, abi::DevicePointer, unsigned long long) {
  const auto reserved = reserve_addresses(current_device(), size);
  *address = reserved.value_or(0);
  return reserved ? abi::kResultSuccess : abi::kResultOutOfMemory;
}

FAKECUDA_API abi::Result cuMemAddressFree(abi::DevicePointer address, std::size_t) {
  return release_addresses(address) ? abi::kResultSuccess : abi::kResultInvalidValue;
}

FAKECUDA_API abi::Result cuMemCreate(abi::Handle* handle, std::size_t size,
                                     const abi::AllocationProperties* properties,
                                     unsigned long long) {
  const int device = properties->location_id;
  if (!device_exists(device)) {
    return abi::kResultInvalidDevice;
  }
  if (size == 0 || size % kGranularity != 0) {
    return abi::kResultInvalidValue;
  }
  make_active(device);
  const auto made = create_physical(device, size);
  *handle = made.value_or(0);
  return made ? abi::kResultSuccess : abi::kResultOutOfMemory;
}

FAKECUDA_API abi::Result cuMemRelease(abi::Handle handle) {
  return release_physical(handle) ? abi::kResultSuccess : abi::kResultInvalidValue;
}

FAKECUDA_API abi::Result cuMemMap(abi::DevicePointer address, std::size_t size, std::size_t,
                                  abi::Handle handle, unsigned long long) {
  return map_physical(address, size, handle) ? abi::kResultSuccess : abi::kResultInvalidValue;
}

FAKECUDA_API abi::Result cuMemUnmap(abi::DevicePointer address, std::size_t size) {
  forget_contents(address, size);
  unmap_physical(address, size);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemSetAccess(abi::DevicePointer, std::size_t, const void*, std::size_t) {
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemRetainAllocationHandle(abi::Handle* handle, void* address) {
  const auto found = mapped_handle(reinterpret_cast<std::uint64_t>(address));
  if (!found || !retain_physical(*found)) {
    return abi::kResultInvalidValue;
  }
  *handle = *found;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemGetAllocationPropertiesFromHandle(
    abi::AllocationProperties* properties, abi::Handle handle) {
  constexpr int kPinned = 1, kOnDevice = 1;
  const auto device = physical_device(handle);
  if (!device) {
    return abi::kResultInvalidValue;
  }
  *properties = {.type = kPinned, .location_type = kOnDevice, .location_id = *device};
  return abi::kResultSuccess;
}

// A handle is valid only in this process: enough for a program that shares with itself.
FAKECUDA_API abi::Result cuMemExportToShareableHandle(int* shareable, abi::Handle handle, int,
                                                      unsigned long long) {
  *shareable = static_cast<int>(handle);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemImportFromShareableHandle(abi::Handle* handle,
                                                        std::uint64_t shareable, int) {
  if (!retain_physical(shareable)) {
    return abi::kResultInvalidValue;
  }
  *handle = shareable;
  return abi::kResultSuccess;
}

}  // namespace highwater::fakecuda
