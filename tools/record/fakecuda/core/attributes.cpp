#include "tools/record/fakecuda/core/attributes.hpp"

#include <algorithm>

#include "tools/record/fakecuda/core/settings.hpp"

namespace highwater::fakecuda {
namespace {

// Attributes given by the profile; 0 for the others.
int profile_attribute(Attribute attribute, int device) {
  const GpuProfile& gpu = settings().gpu;
  switch (attribute) {
    case Attribute::multiprocessor_count:
      return gpu.multiprocessors;
    case Attribute::clock_rate:  // in kHz
      return gpu.clock_megahertz * 1000;
    case Attribute::memory_clock_rate:
      return gpu.memory_clock_megahertz * 1000;
    case Attribute::compute_capability_major:
      return gpu.major;
    case Attribute::compute_capability_minor:
      return gpu.minor;
    case Attribute::l2_cache_size:
      return static_cast<int>(gpu.l2_bytes);
    case Attribute::max_threads_per_multiprocessor:
      return gpu.threads_per_multiprocessor;
    case Attribute::max_blocks_per_multiprocessor:
      return gpu.blocks_per_multiprocessor;
    case Attribute::max_shared_memory_per_multiprocessor:
      return static_cast<int>(gpu.shared_per_multiprocessor);
    case Attribute::max_shared_memory_per_block_optin:
      return static_cast<int>(gpu.shared_per_block);
    case Attribute::reserved_shared_memory_per_block:
      return gpu.major >= 8 ? 1024 : 0;
    case Attribute::cluster_launch:
      return gpu.major >= 9 ? 1 : 0;
    case Attribute::pci_bus_id:
      return 1 + device;
    default:
      return 0;
  }
}

constexpr int kWarpSize = 32;

int rounded_up(int value, int unit) {
  return (value + unit - 1) / unit * unit;
}

int warps_of(int threads) {
  return (std::max(threads, 1) + kWarpSize - 1) / kWarpSize;
}

// Registers are taken by warps, in units, from the four parts of a multiprocessor.
int blocks_by_registers(int warps, int registers) {
  constexpr int kUnit = 256;
  constexpr int kParts = 4;
  const int all = device_attribute(Attribute::max_registers_per_multiprocessor, 0);
  const int of_warp = rounded_up(registers * kWarpSize, kUnit);
  if (of_warp * rounded_up(warps, kParts) > all) {
    return 0;
  }
  return of_warp == 0 ? all : all / kParts / of_warp * kParts / warps;
}

int blocks_by_shared(unsigned long bytes) {
  const GpuProfile& gpu = settings().gpu;
  const int unit = gpu.major >= 8 ? 128 : 256;
  const int of_block = rounded_up(
      static_cast<int>(bytes) + device_attribute(Attribute::reserved_shared_memory_per_block, 0),
      unit);
  return of_block == 0 ? gpu.blocks_per_multiprocessor
                       : static_cast<int>(gpu.shared_per_multiprocessor) / of_block;
}

}  // namespace

int device_attribute(int number, int device) {
  switch (const auto attribute = static_cast<Attribute>(number)) {
    case Attribute::max_threads_per_block:
    case Attribute::max_block_dim_x:
    case Attribute::max_block_dim_y:
      return 1024;
    case Attribute::max_block_dim_z:
      return 64;
    case Attribute::max_grid_dim_x:
    case Attribute::max_pitch:
      return 2147483647;
    case Attribute::max_grid_dim_y:
    case Attribute::max_grid_dim_z:
      return 65535;
    case Attribute::max_shared_memory_per_block:
      return 49152;
    case Attribute::total_constant_memory:
    case Attribute::max_registers_per_block:
    case Attribute::max_registers_per_multiprocessor:
      return 65536;
    case Attribute::warp_size:
      return 32;
    case Attribute::global_memory_bus_width:
      return 5120;
    case Attribute::texture_alignment:
      return 512;
    case Attribute::async_engine_count:
      return 3;
    case Attribute::gpu_overlap:
    case Attribute::can_map_host_memory:
    case Attribute::concurrent_kernels:
    case Attribute::ecc_enabled:
    case Attribute::unified_addressing:
    case Attribute::stream_priorities_supported:
    case Attribute::global_l1_cache_supported:
    case Attribute::local_l1_cache_supported:
    case Attribute::managed_memory:
    case Attribute::concurrent_managed_access:
    case Attribute::cooperative_launch:
    case Attribute::host_register_supported:
    case Attribute::virtual_memory_management_supported:
    case Attribute::handle_type_posix_file_descriptor_supported:
    case Attribute::memory_pools_supported:
      return 1;
    default:
      return profile_attribute(attribute, device);
  }
}

int resident_blocks(int threads, unsigned long shared) {
  const GpuProfile& gpu = settings().gpu;
  int blocks = gpu.threads_per_multiprocessor / (warps_of(threads) * kWarpSize);
  if (shared > 0) {
    blocks = std::min(blocks, static_cast<int>(gpu.shared_per_multiprocessor / shared));
  }
  return std::clamp(blocks, 1, gpu.blocks_per_multiprocessor);
}

int resident_blocks(int threads, unsigned long shared, const KernelResources& kernel) {
  const GpuProfile& gpu = settings().gpu;
  const int warps = warps_of(threads);
  return std::min({gpu.blocks_per_multiprocessor,
                   gpu.threads_per_multiprocessor / (warps * kWarpSize),
                   blocks_by_registers(warps, kernel.registers),
                   blocks_by_shared(shared + kernel.static_shared)});
}

}  // namespace highwater::fakecuda
