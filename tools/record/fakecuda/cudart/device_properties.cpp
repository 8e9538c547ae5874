// cudaGetDeviceProperties: the properties that determine PyTorch's choices of kernels and the sizes
// of their buffers.
#include "tools/record/fakecuda/abi/device_properties.hpp"

#include <cstdio>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/attributes.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/cudart/errors.hpp"

namespace highwater::fakecuda {
namespace {

void set_limits(abi::DeviceProperties& properties, int device) {
  const auto value = [&](Attribute attribute) { return device_attribute(attribute, device); };
  const auto bytes = [&](Attribute attribute) {
    return static_cast<std::size_t>(value(attribute));
  };
  properties.sharedMemPerBlock = bytes(Attribute::max_shared_memory_per_block);
  properties.regsPerBlock = value(Attribute::max_registers_per_block);
  properties.warpSize = value(Attribute::warp_size);
  properties.memPitch = bytes(Attribute::max_pitch);
  properties.maxThreadsPerBlock = value(Attribute::max_threads_per_block);
  properties.maxThreadsDim[0] = value(Attribute::max_block_dim_x);
  properties.maxThreadsDim[1] = value(Attribute::max_block_dim_y);
  properties.maxThreadsDim[2] = value(Attribute::max_block_dim_z);
  properties.maxGridSize[0] = value(Attribute::max_grid_dim_x);
  properties.maxGridSize[1] = value(Attribute::max_grid_dim_y);
  properties.maxGridSize[2] = value(Attribute::max_grid_dim_z);
  properties.totalConstMem = bytes(Attribute::total_constant_memory);
  properties.textureAlignment = bytes(Attribute::texture_alignment);
  properties.texturePitchAlignment = 32;
  properties.l2CacheSize = value(Attribute::l2_cache_size);
  properties.maxThreadsPerMultiProcessor = value(Attribute::max_threads_per_multiprocessor);
  properties.sharedMemPerMultiprocessor = bytes(Attribute::max_shared_memory_per_multiprocessor);
  properties.regsPerMultiprocessor = value(Attribute::max_registers_per_multiprocessor);
  properties.sharedMemPerBlockOptin = bytes(Attribute::max_shared_memory_per_block_optin);
  properties.maxBlocksPerMultiProcessor = value(Attribute::max_blocks_per_multiprocessor);
  properties.reservedSharedMemPerBlock = bytes(Attribute::reserved_shared_memory_per_block);
}

void set_abilities(abi::DeviceProperties& properties, int device) {
  const auto value = [&](Attribute attribute) { return device_attribute(attribute, device); };
  properties.canMapHostMemory = value(Attribute::can_map_host_memory);
  properties.concurrentKernels = value(Attribute::concurrent_kernels);
  properties.ECCEnabled = value(Attribute::ecc_enabled);
  properties.asyncEngineCount = value(Attribute::async_engine_count);
  properties.unifiedAddressing = value(Attribute::unified_addressing);
  properties.memoryBusWidth = value(Attribute::global_memory_bus_width);
  properties.streamPrioritiesSupported = value(Attribute::stream_priorities_supported);
  properties.globalL1CacheSupported = value(Attribute::global_l1_cache_supported);
  properties.localL1CacheSupported = value(Attribute::local_l1_cache_supported);
  properties.managedMemory = value(Attribute::managed_memory);
  properties.concurrentManagedAccess = value(Attribute::concurrent_managed_access);
  properties.cooperativeLaunch = value(Attribute::cooperative_launch);
  properties.hostRegisterSupported = value(Attribute::host_register_supported);
  properties.memoryPoolsSupported = value(Attribute::memory_pools_supported);
  properties.clusterLaunch = value(Attribute::cluster_launch);
#if FAKECUDA_MAJOR < 13
  properties.clockRate = value(Attribute::clock_rate);
  properties.deviceOverlap = value(Attribute::gpu_overlap);
  properties.memoryClockRate = value(Attribute::memory_clock_rate);
#endif
}

abi::DeviceProperties properties_of(int device) {
  abi::DeviceProperties properties{};
  const GpuProfile& gpu = settings().gpu;
  std::snprintf(properties.name, sizeof properties.name, "%s", gpu.name.c_str());
  properties.uuid[0] = '\x7f';
  properties.uuid[15] = static_cast<char>(device);
  properties.totalGlobalMem = settings().capacity;
  properties.major = gpu.major;
  properties.minor = gpu.minor;
  properties.multiProcessorCount = gpu.multiprocessors;
  properties.pciBusID = device_attribute(Attribute::pci_bus_id, device);
  set_limits(properties, device);
  set_abilities(properties, device);
  return properties;
}

}  // namespace

// CUDA 12's plain name has the layout of CUDA 11, which nothing built for CUDA 12 uses.
#if FAKECUDA_MAJOR >= 13
FAKECUDA_API abi::Error cudaGetDeviceProperties(abi::DeviceProperties* properties, int device) {
#else
FAKECUDA_API abi::Error cudaGetDeviceProperties_v2(abi::DeviceProperties* properties, int device) {
#endif
  if (!device_exists(device)) {
    return fail(abi::kErrorInvalidDevice);
  }
  *properties = properties_of(device);
  return abi::kSuccess;
}

}  // namespace highwater::fakecuda
