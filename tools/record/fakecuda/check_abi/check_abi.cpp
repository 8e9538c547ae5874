// Compares abi/ with NVIDIA's headers: it compiles where they agree. Not part of the normal build
// (see CMakeLists.txt).
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "tools/record/fakecuda/abi/device_properties.hpp"
#include "tools/record/fakecuda/abi/driver.hpp"
#include "tools/record/fakecuda/abi/runtime.hpp"
#include "tools/record/fakecuda/core/attributes.hpp"

static_assert(CUDA_VERSION / 1000 == FAKECUDA_MAJOR);

namespace abi = highwater::fakecuda::abi;
using highwater::fakecuda::Attribute;

#define SAME_NUMBER(ours, theirs) \
  static_assert(static_cast<int>(ours) == static_cast<int>(theirs), #theirs)
#define SAME_SIZE(ours, theirs) static_assert(sizeof(ours) == sizeof(theirs), #theirs)
#define SAME_PLACE(ours, our_member, theirs, their_member)                      \
  static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) && \
                    sizeof(ours::our_member) == sizeof(theirs::their_member),   \
                #theirs "::" #their_member)

SAME_NUMBER(abi::kSuccess, cudaSuccess);
SAME_NUMBER(abi::kErrorInvalidValue, cudaErrorInvalidValue);
SAME_NUMBER(abi::kErrorMemoryAllocation, cudaErrorMemoryAllocation);
SAME_NUMBER(abi::kErrorInvalidSymbol, cudaErrorInvalidSymbol);
SAME_NUMBER(abi::kErrorNoDevice, cudaErrorNoDevice);
SAME_NUMBER(abi::kErrorInvalidDevice, cudaErrorInvalidDevice);
SAME_NUMBER(abi::kErrorMissingConfiguration, cudaErrorMissingConfiguration);
SAME_NUMBER(abi::kErrorInvalidResourceHandle, cudaErrorInvalidResourceHandle);
SAME_NUMBER(abi::kErrorIllegalState, cudaErrorIllegalState);
SAME_NUMBER(abi::kErrorSymbolNotFound, cudaErrorSymbolNotFound);
SAME_NUMBER(abi::kErrorNotReady, cudaErrorNotReady);
SAME_NUMBER(abi::kErrorPeerAccessAlreadyEnabled, cudaErrorPeerAccessAlreadyEnabled);
SAME_NUMBER(abi::kErrorNotSupported, cudaErrorNotSupported);
SAME_NUMBER(abi::kErrorUnknown, cudaErrorUnknown);

SAME_NUMBER(abi::kMemoryTypeUnregistered, cudaMemoryTypeUnregistered);
SAME_NUMBER(abi::kMemoryTypeHost, cudaMemoryTypeHost);
SAME_NUMBER(abi::kMemoryTypeDevice, cudaMemoryTypeDevice);
SAME_NUMBER(abi::kMemoryTypeManaged, cudaMemoryTypeManaged);
SAME_NUMBER(abi::kCaptureStatusNone, cudaStreamCaptureStatusNone);
SAME_NUMBER(abi::kCaptureStatusActive, cudaStreamCaptureStatusActive);
SAME_NUMBER(abi::kMemPoolReuseAllowInternalDependencies, cudaMemPoolReuseAllowInternalDependencies);
SAME_NUMBER(abi::kMemPoolReleaseThreshold, cudaMemPoolAttrReleaseThreshold);
SAME_NUMBER(abi::kMemPoolReservedMemCurrent, cudaMemPoolAttrReservedMemCurrent);
SAME_NUMBER(abi::kMemPoolReservedMemHigh, cudaMemPoolAttrReservedMemHigh);
SAME_NUMBER(abi::kMemPoolUsedMemCurrent, cudaMemPoolAttrUsedMemCurrent);
SAME_NUMBER(abi::kMemPoolUsedMemHigh, cudaMemPoolAttrUsedMemHigh);
SAME_NUMBER(abi::kEntryPointSuccess, cudaDriverEntryPointSuccess);
SAME_NUMBER(abi::kEntryPointSymbolNotFound, cudaDriverEntryPointSymbolNotFound);

SAME_SIZE(abi::Dim3, dim3);
SAME_SIZE(abi::MemLocation, cudaMemLocation);
SAME_SIZE(abi::IpcHandle, cudaIpcMemHandle_t);
SAME_SIZE(abi::IpcHandle, cudaIpcEventHandle_t);
SAME_PLACE(abi::MemPoolProps, location, cudaMemPoolProps, location);
SAME_SIZE(abi::PointerAttributes, cudaPointerAttributes);
SAME_PLACE(abi::PointerAttributes, device_pointer, cudaPointerAttributes, devicePointer);
SAME_PLACE(abi::PointerAttributes, host_pointer, cudaPointerAttributes, hostPointer);
SAME_SIZE(abi::FuncAttributes, cudaFuncAttributes);
SAME_PLACE(abi::FuncAttributes, max_threads_per_block, cudaFuncAttributes, maxThreadsPerBlock);
SAME_PLACE(abi::FuncAttributes, num_regs, cudaFuncAttributes, numRegs);
SAME_PLACE(abi::FuncAttributes, ptx_version, cudaFuncAttributes, ptxVersion);
SAME_PLACE(abi::FuncAttributes, binary_version, cudaFuncAttributes, binaryVersion);
SAME_PLACE(abi::FuncAttributes, max_dynamic_shared_size_bytes, cudaFuncAttributes,
           maxDynamicSharedSizeBytes);
SAME_PLACE(abi::FuncAttributes, preferred_shmem_carveout, cudaFuncAttributes,
           preferredShmemCarveout);
SAME_SIZE(abi::LaunchConfig, cudaLaunchConfig_t);
SAME_PLACE(abi::LaunchConfig, block, cudaLaunchConfig_t, blockDim);
SAME_PLACE(abi::LaunchConfig, dynamic_shared_bytes, cudaLaunchConfig_t, dynamicSmemBytes);
SAME_PLACE(abi::LaunchConfig, stream, cudaLaunchConfig_t, stream);

#define SAME_PROPERTY(name) SAME_PLACE(abi::DeviceProperties, name, cudaDeviceProp, name)
SAME_SIZE(abi::DeviceProperties, cudaDeviceProp);
SAME_PROPERTY(name);
SAME_PROPERTY(uuid);
SAME_PROPERTY(totalGlobalMem);
SAME_PROPERTY(sharedMemPerBlock);
SAME_PROPERTY(warpSize);
SAME_PROPERTY(maxThreadsPerBlock);
SAME_PROPERTY(maxGridSize);
SAME_PROPERTY(totalConstMem);
SAME_PROPERTY(major);
SAME_PROPERTY(minor);
SAME_PROPERTY(texturePitchAlignment);
SAME_PROPERTY(multiProcessorCount);
SAME_PROPERTY(canMapHostMemory);
SAME_PROPERTY(surfaceAlignment);
SAME_PROPERTY(pciBusID);
SAME_PROPERTY(asyncEngineCount);
SAME_PROPERTY(memoryBusWidth);
SAME_PROPERTY(l2CacheSize);
SAME_PROPERTY(maxThreadsPerMultiProcessor);
SAME_PROPERTY(sharedMemPerMultiprocessor);
SAME_PROPERTY(regsPerMultiprocessor);
SAME_PROPERTY(concurrentManagedAccess);
SAME_PROPERTY(cooperativeLaunch);
SAME_PROPERTY(sharedMemPerBlockOptin);
SAME_PROPERTY(maxBlocksPerMultiProcessor);
SAME_PROPERTY(reservedSharedMemPerBlock);
SAME_PROPERTY(memoryPoolsSupported);
SAME_PROPERTY(clusterLaunch);
SAME_PROPERTY(unifiedFunctionPointers);
#if FAKECUDA_MAJOR < 13
SAME_PROPERTY(clockRate);
SAME_PROPERTY(deviceOverlap);
SAME_PROPERTY(memoryClockRate);
#endif

SAME_NUMBER(abi::kResultSuccess, CUDA_SUCCESS);
SAME_NUMBER(abi::kResultInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME_NUMBER(abi::kResultOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME_NUMBER(abi::kResultInvalidDevice, CUDA_ERROR_INVALID_DEVICE);
SAME_NUMBER(abi::kResultInvalidContext, CUDA_ERROR_INVALID_CONTEXT);
SAME_NUMBER(abi::kResultInvalidHandle, CUDA_ERROR_INVALID_HANDLE);
SAME_NUMBER(abi::kResultNotFound, CUDA_ERROR_NOT_FOUND);
SAME_NUMBER(abi::kResultNotReady, CUDA_ERROR_NOT_READY);
SAME_NUMBER(abi::kResultNotSupported, CUDA_ERROR_NOT_SUPPORTED);
SAME_NUMBER(abi::kFunctionMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_NUMBER(abi::kFunctionNumRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME_NUMBER(abi::kFunctionPtxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
SAME_NUMBER(abi::kFunctionBinaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
SAME_NUMBER(abi::kPointerContext, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME_NUMBER(abi::kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME_NUMBER(abi::kPointerDevicePointer, CU_POINTER_ATTRIBUTE_DEVICE_POINTER);
SAME_NUMBER(abi::kPointerHostPointer, CU_POINTER_ATTRIBUTE_HOST_POINTER);
SAME_NUMBER(abi::kPointerBufferId, CU_POINTER_ATTRIBUTE_BUFFER_ID);
SAME_NUMBER(abi::kPointerIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME_NUMBER(abi::kPointerDeviceOrdinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_NUMBER(abi::kPointerRangeStart, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR);
SAME_NUMBER(abi::kPointerRangeSize, CU_POINTER_ATTRIBUTE_RANGE_SIZE);
SAME_NUMBER(abi::kPointerMapped, CU_POINTER_ATTRIBUTE_MAPPED);
SAME_NUMBER(abi::kDriverMemoryHost, CU_MEMORYTYPE_HOST);
SAME_NUMBER(abi::kDriverMemoryDevice, CU_MEMORYTYPE_DEVICE);
SAME_SIZE(abi::AllocationProperties, CUmemAllocationProp);
SAME_PLACE(abi::AllocationProperties, requested_handle_types, CUmemAllocationProp,
           requestedHandleTypes);
static_assert(offsetof(abi::AllocationProperties, location_id) ==
              offsetof(CUmemAllocationProp, location) + offsetof(CUmemLocation, id));
SAME_SIZE(abi::DriverLaunchConfig, CUlaunchConfig);
SAME_PLACE(abi::DriverLaunchConfig, block_x, CUlaunchConfig, blockDimX);
SAME_PLACE(abi::DriverLaunchConfig, stream, CUlaunchConfig, hStream);

#define SAME_ATTRIBUTE(ours, theirs) SAME_NUMBER(Attribute::ours, CU_DEVICE_ATTRIBUTE_##theirs)
SAME_ATTRIBUTE(max_threads_per_block, MAX_THREADS_PER_BLOCK);
SAME_ATTRIBUTE(max_block_dim_x, MAX_BLOCK_DIM_X);
SAME_ATTRIBUTE(max_block_dim_y, MAX_BLOCK_DIM_Y);
SAME_ATTRIBUTE(max_block_dim_z, MAX_BLOCK_DIM_Z);
SAME_ATTRIBUTE(max_grid_dim_x, MAX_GRID_DIM_X);
SAME_ATTRIBUTE(max_grid_dim_y, MAX_GRID_DIM_Y);
SAME_ATTRIBUTE(max_grid_dim_z, MAX_GRID_DIM_Z);
SAME_ATTRIBUTE(max_shared_memory_per_block, MAX_SHARED_MEMORY_PER_BLOCK);
SAME_ATTRIBUTE(total_constant_memory, TOTAL_CONSTANT_MEMORY);
SAME_ATTRIBUTE(warp_size, WARP_SIZE);
SAME_ATTRIBUTE(max_pitch, MAX_PITCH);
SAME_ATTRIBUTE(max_registers_per_block, MAX_REGISTERS_PER_BLOCK);
SAME_ATTRIBUTE(clock_rate, CLOCK_RATE);
SAME_ATTRIBUTE(texture_alignment, TEXTURE_ALIGNMENT);
SAME_ATTRIBUTE(gpu_overlap, GPU_OVERLAP);
SAME_ATTRIBUTE(multiprocessor_count, MULTIPROCESSOR_COUNT);
SAME_ATTRIBUTE(can_map_host_memory, CAN_MAP_HOST_MEMORY);
SAME_ATTRIBUTE(concurrent_kernels, CONCURRENT_KERNELS);
SAME_ATTRIBUTE(ecc_enabled, ECC_ENABLED);
SAME_ATTRIBUTE(pci_bus_id, PCI_BUS_ID);
SAME_ATTRIBUTE(memory_clock_rate, MEMORY_CLOCK_RATE);
SAME_ATTRIBUTE(global_memory_bus_width, GLOBAL_MEMORY_BUS_WIDTH);
SAME_ATTRIBUTE(l2_cache_size, L2_CACHE_SIZE);
SAME_ATTRIBUTE(max_threads_per_multiprocessor, MAX_THREADS_PER_MULTIPROCESSOR);
SAME_ATTRIBUTE(async_engine_count, ASYNC_ENGINE_COUNT);
SAME_ATTRIBUTE(unified_addressing, UNIFIED_ADDRESSING);
SAME_ATTRIBUTE(compute_capability_major, COMPUTE_CAPABILITY_MAJOR);
SAME_ATTRIBUTE(compute_capability_minor, COMPUTE_CAPABILITY_MINOR);
SAME_ATTRIBUTE(stream_priorities_supported, STREAM_PRIORITIES_SUPPORTED);
SAME_ATTRIBUTE(global_l1_cache_supported, GLOBAL_L1_CACHE_SUPPORTED);
SAME_ATTRIBUTE(local_l1_cache_supported, LOCAL_L1_CACHE_SUPPORTED);
SAME_ATTRIBUTE(max_shared_memory_per_multiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
SAME_ATTRIBUTE(max_registers_per_multiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR);
SAME_ATTRIBUTE(managed_memory, MANAGED_MEMORY);
SAME_ATTRIBUTE(concurrent_managed_access, CONCURRENT_MANAGED_ACCESS);
SAME_ATTRIBUTE(cooperative_launch, COOPERATIVE_LAUNCH);
SAME_ATTRIBUTE(max_shared_memory_per_block_optin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME_ATTRIBUTE(host_register_supported, HOST_REGISTER_SUPPORTED);
SAME_ATTRIBUTE(virtual_memory_management_supported, VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME_ATTRIBUTE(handle_type_posix_file_descriptor_supported,
               HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
SAME_ATTRIBUTE(max_blocks_per_multiprocessor, MAX_BLOCKS_PER_MULTIPROCESSOR);
SAME_ATTRIBUTE(reserved_shared_memory_per_block, RESERVED_SHARED_MEMORY_PER_BLOCK);
SAME_ATTRIBUTE(memory_pools_supported, MEMORY_POOLS_SUPPORTED);
SAME_ATTRIBUTE(cluster_launch, CLUSTER_LAUNCH);
