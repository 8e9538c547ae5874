// cudaDeviceProp of CUDA 12 (cudaGetDeviceProperties_v2) and of CUDA 13 (cudaGetDeviceProperties),
// with NVIDIA's member names: they are what one looks up.
#pragma once

#include <cstddef>

#include "tools/record/fakecuda/abi/runtime.hpp"

namespace highwater::fakecuda::abi {

struct DeviceProperties {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luidDeviceNodeMask;
  std::size_t totalGlobalMem;
  std::size_t sharedMemPerBlock;
  int regsPerBlock;
  int warpSize;
  std::size_t memPitch;
  int maxThreadsPerBlock;
  int maxThreadsDim[3];
  int maxGridSize[3];
#if FAKECUDA_MAJOR < 13
  int clockRate;
#endif
  std::size_t totalConstMem;
  int major;
  int minor;
  std::size_t textureAlignment;
  std::size_t texturePitchAlignment;
#if FAKECUDA_MAJOR < 13
  int deviceOverlap;
#endif
  int multiProcessorCount;
#if FAKECUDA_MAJOR < 13
  int kernelExecTimeoutEnabled;
#endif
  int integrated;
  int canMapHostMemory;
#if FAKECUDA_MAJOR < 13
  int computeMode;
#endif
  int maxTexture1D;
  int maxTexture1DMipmap;
#if FAKECUDA_MAJOR < 13
  int maxTexture1DLinear;
#endif
  int maxTexture2D[2];
  int maxTexture2DMipmap[2];
  int maxTexture2DLinear[3];
  int maxTexture2DGather[2];
  int maxTexture3D[3];
  int maxTexture3DAlt[3];
  int maxTextureCubemap;
  int maxTexture1DLayered[2];
  int maxTexture2DLayered[3];
  int maxTextureCubemapLayered[2];
  int maxSurface1D;
  int maxSurface2D[2];
  int maxSurface3D[3];
  int maxSurface1DLayered[2];
  int maxSurface2DLayered[3];
  int maxSurfaceCubemap;
  int maxSurfaceCubemapLayered[2];
  std::size_t surfaceAlignment;
  int concurrentKernels;
  int ECCEnabled;
  int pciBusID;
  int pciDeviceID;
  int pciDomainID;
  int tccDriver;
  int asyncEngineCount;
  int unifiedAddressing;
#if FAKECUDA_MAJOR < 13
  int memoryClockRate;
#endif
  int memoryBusWidth;
  int l2CacheSize;
  int persistingL2CacheMaxSize;
  int maxThreadsPerMultiProcessor;
  int streamPrioritiesSupported;
  int globalL1CacheSupported;
  int localL1CacheSupported;
  std::size_t sharedMemPerMultiprocessor;
  int regsPerMultiprocessor;
  int managedMemory;
  int isMultiGpuBoard;
  int multiGpuBoardGroupID;
  int hostNativeAtomicSupported;
#if FAKECUDA_MAJOR < 13
  int singleToDoublePrecisionPerfRatio;
#endif
  int pageableMemoryAccess;
  int concurrentManagedAccess;
  int computePreemptionSupported;
  int canUseHostPointerForRegisteredMem;
  int cooperativeLaunch;
#if FAKECUDA_MAJOR < 13
  int cooperativeMultiDeviceLaunch;
#endif
  std::size_t sharedMemPerBlockOptin;
  int pageableMemoryAccessUsesHostPageTables;
  int directManagedMemAccessFromHost;
  int maxBlocksPerMultiProcessor;
  int accessPolicyMaxWindowSize;
  std::size_t reservedSharedMemPerBlock;
  int hostRegisterSupported;
  int sparseCudaArraySupported;
  int hostRegisterReadOnlySupported;
  int timelineSemaphoreInteropSupported;
  int memoryPoolsSupported;
  int gpuDirectRDMASupported;
  unsigned gpuDirectRDMAFlushWritesOptions;
  int gpuDirectRDMAWritesOrdering;
  unsigned memoryPoolSupportedHandleTypes;
  int deferredMappingCudaArraySupported;
  int ipcEventSupported;
  int clusterLaunch;
  int unifiedFunctionPointers;
  int reserved[63];
};

#if FAKECUDA_MAJOR >= 13
static_assert(sizeof(DeviceProperties) == 1008);
static_assert(offsetof(DeviceProperties, multiProcessorCount) == 384);
#else
static_assert(sizeof(DeviceProperties) == 1032);
static_assert(offsetof(DeviceProperties, multiProcessorCount) == 388);
#endif

}  // namespace highwater::fakecuda::abi
