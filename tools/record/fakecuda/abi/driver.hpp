// What the fake driver shares with programs compiled against cuda.h (CUDA 12.4 and 13.0), only as
// far as it is used here. check_abi compares it with the real header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace highwater::fakecuda::abi {

using Handle = std::uint64_t;
using DevicePointer = std::uint64_t;

enum Result : int {
  kResultSuccess = 0,
  kResultInvalidValue = 1,
  kResultOutOfMemory = 2,
  kResultInvalidDevice = 101,
  kResultInvalidContext = 201,
  kResultInvalidHandle = 400,
  kResultNotFound = 500,
  kResultNotReady = 600,
  kResultNotSupported = 801,
};

enum FunctionAttribute : int {
  kFunctionMaxThreadsPerBlock = 0,
  kFunctionNumRegs = 4,
  kFunctionPtxVersion = 5,
  kFunctionBinaryVersion = 6,
};

enum PointerAttribute : int {
  kPointerContext = 1,
  kPointerMemoryType = 2,
  kPointerDevicePointer = 3,
  kPointerHostPointer = 4,
  kPointerBufferId = 7,
  kPointerIsManaged = 8,
  kPointerDeviceOrdinal = 9,
  kPointerRangeStart = 11,
  kPointerRangeSize = 12,
  kPointerMapped = 13,
};

enum DriverMemoryType : int { kDriverMemoryHost = 1, kDriverMemoryDevice = 2 };

struct AllocationProperties {
  int type;
  int requested_handle_types;
  int location_type;
  int location_id;
  void* win32_metadata;
  unsigned char flags[8];
};

static_assert(sizeof(AllocationProperties) == 32);

struct DriverLaunchConfig {
  unsigned grid_x, grid_y, grid_z;
  unsigned block_x, block_y, block_z;
  unsigned shared_bytes;
  Handle stream;
  void* attributes;
  unsigned attribute_count;
};

static_assert(offsetof(DriverLaunchConfig, stream) == 32);

}  // namespace highwater::fakecuda::abi
