// Initialisation, devices and errors.
#include <cstdio>
#include <cstring>

#include "tools/record/fakecuda/abi/driver.hpp"
#include "tools/record/fakecuda/abi/runtime.hpp"
#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/attributes.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/entry_points.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/versions.hpp"

namespace highwater::fakecuda {

FAKECUDA_API abi::Result cuInit(unsigned) {
  settings();
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuDeviceGetCount(int* count) {
  *count = settings().devices;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuDeviceGet(int* device, int ordinal) {
  if (!device_exists(ordinal)) {
    return abi::kResultInvalidDevice;
  }
  *device = ordinal;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuDeviceGetName(char* name, int size, int device) {
  if (!device_exists(device)) {
    return abi::kResultInvalidDevice;
  }
  std::snprintf(name, static_cast<std::size_t>(size), "%s", settings().gpu.name.c_str());
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuDeviceGetUuid_v2(char* uuid, int device) {
  std::memset(uuid, 0, 16);
  uuid[0] = '\x7f';
  uuid[15] = static_cast<char>(device);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuDeviceGetUuid(char* uuid, int device) {
  return cuDeviceGetUuid_v2(uuid, device);
}

FAKECUDA_API abi::Result cuDeviceGetPCIBusId(char* text, int size, int device) {
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0",
                static_cast<unsigned>(1 + device));
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = settings().capacity;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (!device_exists(device)) {
    return abi::kResultInvalidDevice;
  }
  *value = device_attribute(attribute, device);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuDeviceCanAccessPeer(int* can, int device, int peer) {
  *can = device != peer ? 1 : 0;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuGetErrorString(int error, const char** text) {
  *text = error == abi::kResultSuccess       ? "no error"
          : error == abi::kResultOutOfMemory ? "out of memory"
                                             : "error of the fake driver";
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuGetErrorName(int error, const char** text) {
  *text = error == abi::kResultSuccess       ? "CUDA_SUCCESS"
          : error == abi::kResultOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
                                             : "CUDA_ERROR_UNKNOWN";
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuGetProcAddress_v2(const char* name, void** function, int version,
                                             std::uint64_t, int* status) {
  *function = find_entry_point(name, version);
  if (status != nullptr) {
    *status = *function == nullptr ? abi::kEntryPointSymbolNotFound : abi::kEntryPointSuccess;
  }
  return *function == nullptr ? abi::kResultNotFound : abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuGetProcAddress(const char* name, void** function, int version,
                                          std::uint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

// Undocumented tables of functions, which NVIDIA's own libraries ask for (NVRTC 13.5 before it
// compiles): this driver has none of them, which they accept.
FAKECUDA_API abi::Result cuGetExportTable(const void** table, const void*) {
  *table = nullptr;
  return abi::kResultNotFound;
}

}  // namespace highwater::fakecuda
