// Host memory that the program allocated or registered through CUDA.
#pragma once

#include <cstddef>
#include <optional>

namespace highwater::fakecuda {

/// How the program got the memory.
enum class HostMemory {
  pinned,      ///< cudaHostAlloc, cudaMallocHost
  managed,     ///< cudaMallocManaged
  registered,  ///< cudaHostRegister: the program's own memory
};

/// Zeroed pages that use host memory only once written; nullptr if there are none.
void* allocate_host(std::size_t size, HostMemory kind);
/// False for an address that allocate_host() did not return.
bool free_host(void* address);

void register_host(void* address, std::size_t size);
bool unregister_host(void* address);

/// The block that an address belongs to, nothing for ordinary memory.
std::optional<HostMemory> host_memory_at(const void* address);

/// Fills with zeros. Whole pages allocated here are released instead of written, so a program that
/// offloads tensors to pinned memory needs no host memory for them.
void zero_host(void* address, std::size_t size);

}  // namespace highwater::fakecuda
