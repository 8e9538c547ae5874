#include "tools/record/fakecuda/core/device_memory.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sys/mman.h>
#include <vector>

#include "tools/record/fakecuda/core/address_space.hpp"
#include "tools/record/fakecuda/core/lock.hpp"
#include "tools/record/fakecuda/core/log.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/core/used_memory.hpp"

namespace highwater::fakecuda {
namespace {

// A range that neither programs, libraries, stacks nor the shadow and heap of the address sanitizer
// use on x86-64; the same in every process, so that histories are repeatable and addresses can be
// handed to other processes.
constexpr std::uint64_t kBegin = 0x200000000000;
constexpr std::uint64_t kEnd = 0x500000000000;
constexpr std::uint64_t kPerDevice = (kEnd - kBegin) / kMaxDevices;  // 6 TiB

struct Physical {
  int device;
  std::uint64_t size;
  int owners;  // the handle itself and its mappings
};

struct Mapping {
  std::uint64_t size, handle;
};

struct DeviceMemory {
  std::vector<AddressSpace> space;
  UsedMemory used;
  std::map<std::uint64_t, std::uint64_t> allocations;   // address -> size
  std::map<std::uint64_t, std::uint64_t> reservations;  // address -> size
  std::map<std::uint64_t, Mapping> mappings;
  std::map<std::uint64_t, Physical> physical;
  std::uint64_t next_handle = 0x1000;
};

void* at(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

// Nothing of the host may be placed there, and any access faults at once.
void reserve_host_range() {
  void* const got = mmap(at(kBegin), kEnd - kBegin, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got != at(kBegin)) {
    std::fprintf(stderr,
                 "fake CUDA device: cannot reserve the device's address range (48 TiB of virtual "
                 "memory at %#llx); is the address space limited (ulimit -v)?\n",
                 static_cast<unsigned long long>(kBegin));
    std::_Exit(3);
  }
  madvise(got, kEnd - kBegin, MADV_DONTDUMP);
}

DeviceMemory& memory();

DeviceMemory* make_memory() {
  reserve_host_range();
  auto* const made = new DeviceMemory;
  for (std::uint64_t device = 0; device < kMaxDevices; ++device) {
    made->space.emplace_back(kBegin + device * kPerDevice, kBegin + (device + 1) * kPerDevice);
  }
  std::atexit([] { memory().used.leave(); });
  return made;
}

DeviceMemory& memory() {
  static auto* const made = make_memory();  // never destroyed: calls may come after exit() began
  return *made;
}

std::size_t index_of(int device) {
  return static_cast<std::size_t>(device);
}

std::uint64_t rounded(std::uint64_t size) {
  return (size + kGranularity - 1) / kGranularity * kGranularity;
}

AddressSpace& space_of(std::uint64_t address) {
  return memory().space[(address - kBegin) / kPerDevice];
}

// The handle or one mapping is released; the last one frees the memory.
void drop_owner(std::uint64_t handle) {
  const auto found = memory().physical.find(handle);
  if (found == memory().physical.end() || --found->second.owners > 0) {
    return;
  }
  memory().used.give_back(found->second.device, found->second.size);
  memory().physical.erase(found);
}

std::optional<AddressExtent> around(const std::map<std::uint64_t, std::uint64_t>& ranges,
                                    std::uint64_t address) {
  auto next = ranges.upper_bound(address);
  if (next == ranges.begin()) {
    return std::nullopt;
  }
  const auto [begin, size] = *--next;
  if (address >= begin + size) {
    return std::nullopt;
  }
  return AddressExtent{begin, size};
}

}  // namespace

MemoryInfo memory_info(int device) {
  const auto hold = hold_state();
  const std::uint64_t taken = memory().used.of(device);
  const std::uint64_t total = settings().capacity;
  return {taken < total ? total - taken : 0, total};
}

std::optional<int> device_of(std::uint64_t address) {
  if (address < kBegin || address >= kEnd) {
    return std::nullopt;
  }
  return static_cast<int>((address - kBegin) / kPerDevice);
}

std::optional<int> device_of(const void* address) {
  return device_of(reinterpret_cast<std::uint64_t>(address));
}

std::optional<AddressExtent> extent_around(std::uint64_t address) {
  const auto hold = hold_state();
  const auto allocation = around(memory().allocations, address);
  return allocation ? allocation : around(memory().reservations, address);
}

std::optional<std::uint64_t> allocate(int device, std::uint64_t size) {
  const auto hold = hold_state();
  const std::uint64_t whole = rounded(size);
  if (whole < size || !memory().used.take(device, whole)) {
    log_line("malloc failed %llu device %d\n", static_cast<unsigned long long>(size), device);
    return std::nullopt;
  }
  const auto address = memory().space[index_of(device)].take(whole, settings().order);
  if (!address) {
    memory().used.give_back(device, whole);
  } else {
    memory().allocations[*address] = whole;
    log_line("malloc %#llx %llu device %d\n", static_cast<unsigned long long>(*address),
             static_cast<unsigned long long>(size), device);
  }
  return address;
}

bool deallocate(std::uint64_t address) {
  const auto hold = hold_state();
  const auto found = memory().allocations.find(address);
  if (found == memory().allocations.end()) {
    return false;
  }
  memory().used.give_back(*device_of(address), found->second);
  space_of(address).give_back(address, found->second);
  memory().allocations.erase(found);
  log_line("free %#llx\n", static_cast<unsigned long long>(address));
  return true;
}

std::optional<std::uint64_t> reserve_addresses(int device, std::uint64_t size) {
  const auto hold = hold_state();
  const std::uint64_t whole = rounded(size);
  const auto address = memory().space[index_of(device)].take(whole, settings().order);
  if (address) {
    memory().reservations[*address] = whole;
    log_line("reserve %#llx %llu\n", static_cast<unsigned long long>(*address),
             static_cast<unsigned long long>(size));
  }
  return address;
}

bool release_addresses(std::uint64_t address) {
  const auto hold = hold_state();
  const auto found = memory().reservations.find(address);
  if (found == memory().reservations.end()) {
    return false;
  }
  space_of(address).give_back(address, found->second);
  memory().reservations.erase(found);
  log_line("unreserve %#llx\n", static_cast<unsigned long long>(address));
  return true;
}

std::optional<std::uint64_t> create_physical(int device, std::uint64_t size) {
  const auto hold = hold_state();
  if (!memory().used.take(device, size)) {
    log_line("create failed %llu device %d\n", static_cast<unsigned long long>(size), device);
    return std::nullopt;
  }
  const std::uint64_t handle = memory().next_handle++;
  memory().physical[handle] = {device, size, 1};
  log_line("create handle %llu %llu device %d\n", static_cast<unsigned long long>(handle),
           static_cast<unsigned long long>(size), device);
  return handle;
}

bool retain_physical(std::uint64_t handle) {
  const auto hold = hold_state();
  const auto found = memory().physical.find(handle);
  if (found == memory().physical.end()) {
    return false;
  }
  ++found->second.owners;
  return true;
}

bool release_physical(std::uint64_t handle) {
  const auto hold = hold_state();
  if (!memory().physical.contains(handle)) {
    return false;
  }
  drop_owner(handle);
  log_line("release handle %llu\n", static_cast<unsigned long long>(handle));
  return true;
}

std::optional<int> physical_device(std::uint64_t handle) {
  const auto hold = hold_state();
  const auto found = memory().physical.find(handle);
  if (found == memory().physical.end()) {
    return std::nullopt;
  }
  return found->second.device;
}

std::optional<std::uint64_t> mapped_handle(std::uint64_t address) {
  const auto hold = hold_state();
  auto next = memory().mappings.upper_bound(address);
  if (next == memory().mappings.begin()) {
    return std::nullopt;
  }
  const auto& [begin, mapping] = *--next;
  if (address >= begin + mapping.size) {
    return std::nullopt;
  }
  return mapping.handle;
}

bool map_physical(std::uint64_t address, std::uint64_t size, std::uint64_t handle) {
  const auto hold = hold_state();
  const auto found = memory().physical.find(handle);
  if (found == memory().physical.end() || memory().mappings.contains(address)) {
    return false;
  }
  ++found->second.owners;
  memory().mappings[address] = {size, handle};
  log_line("map %#llx %llu handle %llu\n", static_cast<unsigned long long>(address),
           static_cast<unsigned long long>(size), static_cast<unsigned long long>(handle));
  return true;
}

void unmap_physical(std::uint64_t address, std::uint64_t size) {
  const auto hold = hold_state();
  auto mapping = memory().mappings.lower_bound(address);
  while (mapping != memory().mappings.end() && mapping->first < address + size) {
    const std::uint64_t handle = mapping->second.handle;
    mapping = memory().mappings.erase(mapping);
    drop_owner(handle);
  }
  log_line("unmap %#llx %llu\n", static_cast<unsigned long long>(address),
           static_cast<unsigned long long>(size));
}

}  // namespace highwater::fakecuda
