// Stream-ordered allocation: cudaMallocAsync and memory pools. Memory is taken and returned at the
// call.
#include <cstdint>
#include <unordered_map>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/device_memory.hpp"
#include "tools/record/fakecuda/core/lock.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"

namespace highwater::fakecuda {
namespace {

struct MemPool {
  int device = 0;
  std::uint64_t release_threshold = 0;  ///< bytes; kept, but memory always returns at once
  std::uint64_t used = 0;               ///< bytes
  std::uint64_t high = 0;               ///< the highest use
};

struct PoolAllocation {
  MemPool* pool;
  std::uint64_t size;
};

MemPool& default_pool(int device) {
  static auto* const pools = [] {
    auto* const made = new MemPool[kMaxDevices];
    for (int i = 0; i < kMaxDevices; ++i) {
      made[i].device = i;
    }
    return made;
  }();
  return pools[device];
}

std::unordered_map<std::uint64_t, PoolAllocation>& allocations() {
  static auto* const made = new std::unordered_map<std::uint64_t, PoolAllocation>;
  return *made;
}

abi::Error allocate_from(MemPool& pool, std::uint64_t* address, std::size_t size) {
  *address = 0;
  if (size == 0) {
    return abi::kSuccess;
  }
  make_active(pool.device);
  const auto made = allocate(pool.device, size);
  if (!made) {
    return fail(abi::kErrorMemoryAllocation);
  }
  const auto hold = hold_state();
  allocations()[*made] = {&pool, size};
  pool.used += size;
  pool.high = pool.used > pool.high ? pool.used : pool.high;
  *address = *made;
  return abi::kSuccess;
}

void forget_allocation(std::uint64_t address) {
  const auto hold = hold_state();
  if (const auto found = allocations().find(address); found != allocations().end()) {
    found->second.pool->used -= found->second.size;
    allocations().erase(found);
  }
}

std::uint64_t pool_number(const MemPool& pool, int attribute) {
  switch (attribute) {
    case abi::kMemPoolReleaseThreshold:
      return pool.release_threshold;
    case abi::kMemPoolReservedMemHigh:
    case abi::kMemPoolUsedMemHigh:
      return pool.high;
    default:
      return pool.used;
  }
}

}  // namespace

FAKECUDA_API abi::Error cudaMallocAsync(std::uint64_t* address, std::size_t size, abi::Handle) {
  return allocate_from(default_pool(current_device()), address, size);
}

FAKECUDA_API abi::Error cudaMallocFromPoolAsync(std::uint64_t* address, std::size_t size,
                                                MemPool* pool, abi::Handle) {
  return allocate_from(*pool, address, size);
}

FAKECUDA_API abi::Error cudaFreeAsync(std::uint64_t address, abi::Handle) {
  if (address == 0) {
    return abi::kSuccess;
  }
  forget_allocation(address);
  return deallocate(address) ? abi::kSuccess : fail(abi::kErrorInvalidValue);
}

FAKECUDA_API abi::Error cudaDeviceGetDefaultMemPool(MemPool** pool, int device) {
  if (!device_exists(device)) {
    return fail(abi::kErrorInvalidDevice);
  }
  *pool = &default_pool(device);
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaDeviceGetMemPool(MemPool** pool, int device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}

FAKECUDA_API abi::Error cudaMemPoolCreate(MemPool** pool, const abi::MemPoolProps* properties) {
  if (!device_exists(properties->location.id)) {
    return fail(abi::kErrorInvalidDevice);
  }
  *pool = new MemPool{.device = properties->location.id};
  return abi::kSuccess;
}

// The pool stays because its allocations may outlive it.
FAKECUDA_API abi::Error cudaMemPoolDestroy(MemPool*) {
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaMemPoolTrimTo(MemPool*, std::size_t) {
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaMemPoolSetAccess(MemPool*, const void*, std::size_t) {
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaMemPoolGetAttribute(MemPool* pool, int attribute, void* value) {
  const auto hold = hold_state();
  if (attribute <= abi::kMemPoolReuseAllowInternalDependencies) {
    *static_cast<int*>(value) = 1;
  } else {
    *static_cast<std::uint64_t*>(value) = pool_number(*pool, attribute);
  }
  return abi::kSuccess;
}

FAKECUDA_API abi::Error cudaMemPoolSetAttribute(MemPool* pool, int attribute, const void* value) {
  const auto hold = hold_state();
  if (attribute == abi::kMemPoolReleaseThreshold) {
    pool->release_threshold = *static_cast<const std::uint64_t*>(value);
  } else if (attribute == abi::kMemPoolUsedMemHigh || attribute == abi::kMemPoolReservedMemHigh) {
    pool->high = pool->used;
  }
  return abi::kSuccess;
}

}  // namespace highwater::fakecuda
