// Versions, devices, peers.
#include <cstdio>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/attributes.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/core/streams.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"
#include "tools/record/fakecuda/versions.hpp"

namespace highwater::fakecuda {

FAKECUDA_API abi::Error cudaRuntimeGetVersion(int* version) {
  *version = kRuntimeVersion;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaDriverGetVersion(int* version) {
  *version = kDriverVersion;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaGetDeviceCount(int* count) {
  *count = settings().devices;
  return *count > 0 ? abi::kSuccess : fail(abi::kErrorNoDevice);
}

FAKECUDA_API abi::Error cudaGetDevice(int* device) {
  *device = current_device();
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaSetDevice(int device) {
  if (!device_exists(device)) {
    return fail(abi::kErrorInvalidDevice);
  }
  set_current_device(device);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaInitDevice(int device, unsigned, unsigned) {
  if (!device_exists(device)) {
    return fail(abi::kErrorInvalidDevice);
  }
  make_active(device);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaDeviceGetAttribute(int* value, int attribute, int device) {
  if (!device_exists(device)) {
    return fail(abi::kErrorInvalidDevice);
  }
  *value = device_attribute(attribute, device);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaDeviceGetPCIBusId(char* text, int size, int device) {
  if (!device_exists(device) || size < 13) {
    return fail(device_exists(device) ? abi::kErrorInvalidValue : abi::kErrorInvalidDevice);
  }
  std::snprintf(text, static_cast<std::size_t>(size), "0000:%02x:00.0",
                static_cast<unsigned>(1 + device));
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaDeviceSynchronize() {
  finish_device(current_device());
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  if (!device_exists(device) || !device_exists(peer)) {
    return fail(abi::kErrorInvalidDevice);
  }
  *can = device != peer ? 1 : 0;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least != nullptr) {
    *least = 0;
  }
  if (greatest != nullptr) {
    *greatest = -5;
  }
  return abi::kSuccess;
}

}  // namespace highwater::fakecuda
