// Device memory: address space that nothing backs, counted against each device's capacity.
//
// Allocations (cudaMalloc) have addresses and bytes at once. Virtual memory management separates
// them: a reservation takes addresses, physical memory (cuMemCreate) takes bytes, and a mapping
// keeps the physical memory alive after its handle was released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace highwater::fakecuda {

/// Allocations and mappings are multiples of this, as on current GPUs.
constexpr std::uint64_t kGranularity = 2ULL << 20;

struct MemoryInfo {
  std::uint64_t free, total;  ///< bytes
};

MemoryInfo memory_info(int device);

/// Whether the address lies in a device's address range, and in whose.
std::optional<int> device_of(const void* address);
std::optional<int> device_of(std::uint64_t address);

/// The allocation, mapping or reservation around an address.
struct AddressExtent {
  std::uint64_t address, size;
};

std::optional<AddressExtent> extent_around(std::uint64_t address);

/// cudaMalloc: nothing if the capacity is exceeded.
std::optional<std::uint64_t> allocate(int device, std::uint64_t size);
/// False for an address that allocate() did not return.
bool deallocate(std::uint64_t address);

/// Addresses without memory.
std::optional<std::uint64_t> reserve_addresses(int device, std::uint64_t size);
bool release_addresses(std::uint64_t address);

/// Memory without addresses: a handle, nothing if the capacity is exceeded.
std::optional<std::uint64_t> create_physical(int device, std::uint64_t size);
/// One more owner of the handle.
bool retain_physical(std::uint64_t handle);
bool release_physical(std::uint64_t handle);
/// The device of a handle.
std::optional<int> physical_device(std::uint64_t handle);
/// The handle mapped at an address.
std::optional<std::uint64_t> mapped_handle(std::uint64_t address);

/// False if the handle is unknown or the address already mapped.
bool map_physical(std::uint64_t address, std::uint64_t size, std::uint64_t handle);
void unmap_physical(std::uint64_t address, std::uint64_t size);

}  // namespace highwater::fakecuda
