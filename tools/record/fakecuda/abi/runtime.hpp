// What the fake CUDA runtime shares with programs compiled against NVIDIA's headers: layouts and
// numbers of cuda_runtime_api.h and driver_types.h (CUDA 12.4 and 13.0), only as far as they are
// used here. check_abi compares them with the real headers. Opaque handles are words.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef FAKECUDA_MAJOR
#error "FAKECUDA_MAJOR is the major version of CUDA: 12 or 13"
#endif

namespace highwater::fakecuda::abi {

using Handle = std::uint64_t;

enum Error : int {
  kSuccess = 0,
  kErrorInvalidValue = 1,
  kErrorMemoryAllocation = 2,
  kErrorInvalidSymbol = 13,
  kErrorNoDevice = 100,
  kErrorInvalidDevice = 101,
  kErrorMissingConfiguration = 52,
  kErrorInvalidResourceHandle = 400,
  kErrorIllegalState = 401,
  kErrorSymbolNotFound = 500,
  kErrorNotReady = 600,
  kErrorPeerAccessAlreadyEnabled = 704,
  kErrorNotSupported = 801,
  kErrorUnknown = 999,
};

enum MemoryType : int {
  kMemoryTypeUnregistered = 0,
  kMemoryTypeHost = 1,
  kMemoryTypeDevice = 2,
  kMemoryTypeManaged = 3,
};

enum CaptureStatus : int { kCaptureStatusNone = 0, kCaptureStatusActive = 1 };

enum MemPoolAttribute : int {
  kMemPoolReuseAllowInternalDependencies =
      3,  ///< the last of the switches; all before are switches, too
  kMemPoolReleaseThreshold = 4,
  kMemPoolReservedMemCurrent = 5,
  kMemPoolReservedMemHigh = 6,
  kMemPoolUsedMemCurrent = 7,
  kMemPoolUsedMemHigh = 8,
};

enum DriverEntryPointResult : int { kEntryPointSuccess = 0, kEntryPointSymbolNotFound = 1 };

struct Dim3 {
  unsigned x, y, z;
};

struct MemLocation {
  int type, id;
};

struct MemPoolProps {
  int alloc_type;
  int handle_types;
  MemLocation location;
};

static_assert(offsetof(MemPoolProps, location) == 8);

struct IpcHandle {
  char reserved[64];
};

struct PointerAttributes {
  int type;
  int device;
  void* device_pointer;
  void* host_pointer;
#if FAKECUDA_MAJOR >= 13
  long reserved[8];
#endif
};

static_assert(sizeof(PointerAttributes) == (FAKECUDA_MAJOR >= 13 ? 88 : 24));

struct FuncAttributes {
  std::size_t shared_size_bytes;
  std::size_t const_size_bytes;
  std::size_t local_size_bytes;
  int max_threads_per_block;
  int num_regs;
  int ptx_version;
  int binary_version;
  int cache_mode_ca;
  int max_dynamic_shared_size_bytes;
  int preferred_shmem_carveout;
  int cluster_dim_must_be_set;
  int required_cluster_width;
  int required_cluster_height;
  int required_cluster_depth;
  int cluster_scheduling_policy_preference;
  int non_portable_cluster_size_allowed;
  int reserved[16];
};

static_assert(sizeof(FuncAttributes) == 144);

struct LaunchConfig {
  Dim3 grid;
  Dim3 block;
  std::size_t dynamic_shared_bytes;
  Handle stream;
  void* attributes;
  unsigned attribute_count;
};

static_assert(offsetof(LaunchConfig, stream) == 32);

}  // namespace highwater::fakecuda::abi
