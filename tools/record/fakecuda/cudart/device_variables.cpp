// The variables of a program's own kernels (__device__, __constant__): each device has a copy of
// them, in the image of the program that its context loads, so outside of every allocation. A copy
// gets its address when somebody asks for it; it takes no bytes of the capacity, since the measured
// size of a context counts the images (FAKE_CUDA_CONTEXT).
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/copies.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/device_memory.hpp"
#include "tools/record/fakecuda/core/lock.hpp"
#include "tools/record/fakecuda/core/streams.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"

namespace highwater::fakecuda {
namespace {

struct DeviceVariable {
  std::size_t size = 0;
  std::map<int, std::uint64_t> addresses;  ///< by device, once they were asked for
};

// By the address of its host counterpart. Never destroyed: calls may come after exit() has begun.
std::map<const void*, DeviceVariable>& device_variables() {
  static auto* const made = new std::map<const void*, DeviceVariable>;
  return *made;
}

std::optional<std::size_t> variable_size(const void* variable) {
  const auto hold = hold_state();
  const auto found = device_variables().find(variable);
  return found == device_variables().end() ? std::nullopt : std::optional(found->second.size);
}

std::optional<std::uint64_t> known_address(const void* variable, int device) {
  const auto hold = hold_state();
  const auto& addresses = device_variables().at(variable).addresses;
  const auto found = addresses.find(device);
  return found == addresses.end() ? std::nullopt : std::optional(found->second);
}

/// Nothing for a variable that no program has registered.
std::optional<std::uint64_t> variable_address(const void* variable) {
  const auto size = variable_size(variable);
  if (!size) {
    return std::nullopt;
  }
  const int device = current_device();
  if (const auto known = known_address(variable, device)) {
    return known;
  }
  const auto reserved = reserve_addresses(device, *size);
  if (reserved) {
    const auto hold = hold_state();
    device_variables()[variable].addresses[device] = *reserved;
  }
  return reserved;
}

/// The place of `size` bytes from `offset` on; nothing if they are not within the variable.
char* variable_part(const void* variable, std::size_t size, std::size_t offset) {
  const auto whole = variable_size(variable);
  if (!whole || offset > *whole || size > *whole - offset) {
    return nullptr;
  }
  const auto address = variable_address(variable);
  return address ? reinterpret_cast<char*>(*address) + offset : nullptr;
}

abi::Error copy_to_variable(const void* variable, const void* from, std::size_t size,
                            std::size_t offset) {
  char* const to = variable_part(variable, size, offset);
  if (to == nullptr) {
    return fail(variable_size(variable) ? abi::kErrorInvalidValue : abi::kErrorInvalidSymbol);
  }
  copy_memory(to, from, size);
  return abi::kSuccess;
}

abi::Error copy_from_variable(void* to, const void* variable, std::size_t size,
                              std::size_t offset) {
  const char* const from = variable_part(variable, size, offset);
  if (from == nullptr) {
    return fail(variable_size(variable) ? abi::kErrorInvalidValue : abi::kErrorInvalidSymbol);
  }
  copy_memory(to, from, size);
  return abi::kSuccess;
}

}  // namespace

FAKECUDA_API void __cudaRegisterVar(void**, char* host, char*, const char*, int, std::size_t size,
                                    int, int) {
  const auto hold = hold_state();
  device_variables()[host].size = size;
}

FAKECUDA_API abi::Error cudaGetSymbolAddress(std::uint64_t* address, const void* variable) {
  const auto found = variable_address(variable);
  if (!found) {
    return fail(abi::kErrorInvalidSymbol);
  }
  *address = *found;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaGetSymbolSize(std::size_t* size, const void* variable) {
  const auto found = variable_size(variable);
  if (!found) {
    return fail(abi::kErrorInvalidSymbol);
  }
  *size = *found;
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaMemcpyToSymbol(const void* variable, const void* from, std::size_t size,
                                           std::size_t offset, int) {
  finish_stream(*find_stream(0));
  return copy_to_variable(variable, from, size, offset);
}

FAKECUDA_API abi::Error cudaMemcpyToSymbolAsync(const void* variable, const void* from,
                                                std::size_t size, std::size_t offset, int,
                                                abi::Handle) {
  return copy_to_variable(variable, from, size, offset);
}

FAKECUDA_API abi::Error cudaMemcpyFromSymbol(void* to, const void* variable, std::size_t size,
                                             std::size_t offset, int) {
  finish_stream(*find_stream(0));
  return copy_from_variable(to, variable, size, offset);
}

FAKECUDA_API abi::Error cudaMemcpyFromSymbolAsync(void* to, const void* variable, std::size_t size,
                                                  std::size_t offset, int, abi::Handle) {
  return copy_from_variable(to, variable, size, offset);
}

}  // namespace highwater::fakecuda
