// Contexts: every device has its primary one, and a thread's current context is its current
// device's.
#include "tools/record/fakecuda/abi/driver.hpp"
#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/core/streams.hpp"
#include "tools/record/fakecuda/driver/context.hpp"

namespace highwater::fakecuda {
namespace {

abi::Result enter(abi::Handle context) {
  if (context == 0) {
    return abi::kResultSuccess;
  }
  const int device = device_of_context(context);
  if (!device_exists(device)) {
    return abi::kResultInvalidContext;
  }
  set_current_device(device);
  return abi::kResultSuccess;
}

}  // namespace

FAKECUDA_API abi::Result cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  if (!device_exists(device)) {
    return abi::kResultInvalidDevice;
  }
  if (flags != nullptr) {
    *flags = 0;
  }
  if (active != nullptr) {
    *active = is_active(device) ? 1 : 0;
  }
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuDevicePrimaryCtxRetain(abi::Handle* context, int device) {
  if (!device_exists(device)) {
    return abi::kResultInvalidDevice;
  }
  make_active(device);
  *context = context_of_device(device);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuCtxCreate_v2(abi::Handle* context, unsigned, int device) {
  set_current_device(device);
  *context = context_of_device(device);
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuCtxGetCurrent(abi::Handle* context) {
  *context = is_active(current_device()) ? context_of_device(current_device()) : 0;
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuCtxSetCurrent(abi::Handle context) {
  return enter(context);
}

FAKECUDA_API abi::Result cuCtxPushCurrent_v2(abi::Handle context) {
  return enter(context);
}

FAKECUDA_API abi::Result cuCtxPopCurrent_v2(abi::Handle* context) {
  if (context != nullptr) {
    *context = context_of_device(current_device());
  }
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuCtxGetDevice(int* device) {
  *device = current_device();
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuCtxSynchronize() {
  finish_device(current_device());
  return abi::kResultSuccess;
}

FAKECUDA_API abi::Result cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return abi::kResultSuccess;
}

}  // namespace highwater::fakecuda
