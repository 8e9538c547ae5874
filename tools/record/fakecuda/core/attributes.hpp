// Device attributes: CUdevice_attribute and cudaDeviceAttr share their numbers.
#pragma once

#include "tools/record/fakecuda/kernels/cubin.hpp"

namespace highwater::fakecuda {

enum class Attribute : int {
  max_threads_per_block = 1,
  max_block_dim_x = 2,
  max_block_dim_y = 3,
  max_block_dim_z = 4,
  max_grid_dim_x = 5,
  max_grid_dim_y = 6,
  max_grid_dim_z = 7,
  max_shared_memory_per_block = 8,
  total_constant_memory = 9,
  warp_size = 10,
  max_pitch = 11,
  max_registers_per_block = 12,
  clock_rate = 13,
  texture_alignment = 14,
  gpu_overlap = 15,
  multiprocessor_count = 16,
  can_map_host_memory = 19,
  concurrent_kernels = 31,
  ecc_enabled = 32,
  pci_bus_id = 33,
  memory_clock_rate = 36,
  global_memory_bus_width = 37,
  l2_cache_size = 38,
  max_threads_per_multiprocessor = 39,
  async_engine_count = 40,
  unified_addressing = 41,
  compute_capability_major = 75,
  compute_capability_minor = 76,
  stream_priorities_supported = 78,
  global_l1_cache_supported = 79,
  local_l1_cache_supported = 80,
  max_shared_memory_per_multiprocessor = 81,
  max_registers_per_multiprocessor = 82,
  managed_memory = 83,
  concurrent_managed_access = 89,
  cooperative_launch = 95,
  max_shared_memory_per_block_optin = 97,
  host_register_supported = 99,
  virtual_memory_management_supported = 102,
  handle_type_posix_file_descriptor_supported = 103,
  max_blocks_per_multiprocessor = 106,
  reserved_shared_memory_per_block = 111,
  memory_pools_supported = 115,
  cluster_launch = 120,
};

/// The value of an attribute, 0 for those without a name above: the device lacks that ability.
int device_attribute(int attribute, int device);

inline int device_attribute(Attribute attribute, int device) {
  return device_attribute(static_cast<int>(attribute), device);
}

/// How many blocks of `threads` threads and `shared` bytes of dynamic shared memory a
/// multiprocessor takes: at least one. An estimate, since the use of registers is unknown here.
int resident_blocks(int threads, unsigned long shared);

/// The same for a kernel whose resources are known, by the rules of NVIDIA's cuda_occupancy.h (CUDA
/// 13.0): 0 if not even one block fits.
int resident_blocks(int threads, unsigned long shared, const KernelResources& kernel);

}  // namespace highwater::fakecuda
