// Device and host memory by the driver, and what an address belongs to.
#include "tools/record/fakecuda/abi/driver.hpp"
#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/contents.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/device_memory.hpp"
#include "tools/record/fakecuda/core/host_memory.hpp"
#include "tools/record/fakecuda/core/streams.hpp"
#include "tools/record/fakecuda/driver/context.hpp"

namespace highwater::fakecuda {
namespace {

const void* as_pointer(abi::DevicePointer address) {
  return reinterpret_cast<const void*>(address);
}

bool is_managed(abi::DevicePointer address) {
  return host_memory_at(as_pointer(address)) == HostMemory::managed;
}

// Writes the attribute's value; false for an attribute that no known program queries.
bool put_attribute(void* to, int attribute, abi::DevicePointer address) {
  const auto device = device_of(address);
  const auto extent = extent_around(address).value_or(AddressExtent{address, 0});
  const auto put = [&]<class T>(T value) {
    *static_cast<T*>(to) = value;
    return true;
  };
  switch (attribute) {
    case abi::kPointerContext:
      return put(context_of_device(device.value_or(current_device())));
    case abi::kPointerMemoryType:
      return put(static_cast<int>(device ? abi::kDriverMemoryDevice : abi::kDriverMemoryHost));
    case abi::kPointerDevicePointer:
      return put(address);
    case abi::kPointerHostPointer:
      return put(device ? abi::DevicePointer{0} : address);
    case abi::kPointerBufferId:
    case abi::kPointerRangeStart:
      return put(extent.address);
    case abi::kPointerIsManaged:
      return put(static_cast<unsigned char>(is_managed(address) ? 1 : 0));
    case abi::kPointerDeviceOrdinal:
      return put(device.value_or(current_device()));
    case abi::kPointerRangeSize:
      return put(extent.size);
    case abi::kPointerMapped:
      return put(static_cast<unsigned char>(1));
    default:
      return false;
  }
}

}  // namespace

FAKECUDA_API abi::Result cuMemAlloc_v2(abi::DevicePointer* address, std::size_t size) {
  const auto made = allocate(current_device(), size);
  *address = made.value_or(0);
  return made ? abi::kResultSuccess : abi::kResultOutOfMemory;
}

FAKECUDA_API abi::Result cuMemFree_v2(abi::DevicePointer address) {
  finish_device(current_device());
  const auto extent = extent_around(address);
  if (!deallocate(address)) {
    return address == 0 ? abi::kResultSuccess : abi::kResultInvalidValue;
  }
  forget_contents(address, extent->size);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  const MemoryInfo info = memory_info(current_device());
  *free = info.free;
  *total = info.total;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemGetAddressRange_v2(abi::DevicePointer* base, std::size_t* size,
                                                 abi::DevicePointer address) {
  const auto extent = extent_around(address);
  if (!extent) {
    return abi::kResultNotFound;
  }
  if (base != nullptr) {
    *base = extent->address;
  }
  if (size != nullptr) {
    *size = extent->size;
  }
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuPointerGetAttribute(void* data, int attribute,
                                               abi::DevicePointer address) {
  if (!device_of(address) && !host_memory_at(as_pointer(address))) {
    return abi::kResultInvalidValue;
  }
  return put_attribute(data, attribute, address) ? abi::kResultSuccess : abi::kResultNotSupported;
}

FAKECUDA_API abi::Result cuPointerGetAttributes(unsigned count, const int* attributes, void** data,
                                                abi::DevicePointer address) {
  for (unsigned i = 0; i < count; ++i) {
    put_attribute(data[i], attributes[i], address);
  }
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemAllocHost_v2(void** address, std::size_t size) {
  *address = allocate_host(size, HostMemory::pinned);
  return *address == nullptr ? abi::kResultOutOfMemory : abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemHostAlloc(void** address, std::size_t size, unsigned) {
  return cuMemAllocHost_v2(address, size);
}

FAKECUDA_API abi::Result cuMemAllocManaged(void** address, std::size_t size, unsigned) {
  *address = allocate_host(size, HostMemory::managed);
  return *address == nullptr ? abi::kResultOutOfMemory : abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemAllocAsync(abi::DevicePointer* address, std::size_t size,
                                         abi::Handle) {
  return cuMemAlloc_v2(address, size);
}

FAKECUDA_API abi::Result cuMemFreeAsync(abi::DevicePointer address, abi::Handle) {
  return deallocate(address) ? abi::kResultSuccess : abi::kResultInvalidValue;
}

FAKECUDA_API abi::Result cuMemHostRegister_v2(void* address, std::size_t size, unsigned) {
  register_host(address, size);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemHostUnregister(void* address) {
  return unregister_host(address) ? abi::kResultSuccess : abi::kResultInvalidValue;
}

FAKECUDA_API abi::Result cuMemHostGetDevicePointer_v2(void** device, void* host, unsigned) {
  *device = host;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuMemFreeHost(void* address) {
  return free_host(address) ? abi::kResultSuccess : abi::kResultInvalidValue;
}

}  // namespace highwater::fakecuda
