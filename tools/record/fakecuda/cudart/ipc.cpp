// Sharing between processes. Addresses mean the same in every process, so the handle is the
// address.
#include <cstring>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/device_memory.hpp"
#include "tools/record/fakecuda/core/streams.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"

namespace highwater::fakecuda {

FAKECUDA_API abi::Error cudaIpcGetMemHandle(abi::IpcHandle* handle, std::uint64_t address) {
  const auto extent = extent_around(address);
  if (!extent) {
    return fail(abi::kErrorInvalidValue);
  }
  *handle = {};
  std::memcpy(handle, &extent->address, sizeof extent->address);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaIpcOpenMemHandle(std::uint64_t* address, abi::IpcHandle handle,
                                             unsigned) {
  std::memcpy(address, &handle, sizeof *address);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaIpcCloseMemHandle(std::uint64_t) {
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaIpcGetEventHandle(abi::IpcHandle* handle, const Event*) {
  *handle = {};
  return abi::kSuccess;
}

// The other process's event is over.
FAKECUDA_API abi::Error cudaIpcOpenEventHandle(Event** event, abi::IpcHandle) {
  *event = new Event{.device = current_device()};
  return abi::kSuccess;
}

}  // namespace highwater::fakecuda
