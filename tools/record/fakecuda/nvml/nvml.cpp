// Fake NVML: the devices, their memory, and this process as the only one that uses them. PyTorch
// asks it for the number of devices before CUDA is initialised, and for the last sentence of an
// out-of-memory message.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/device_memory.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/versions.hpp"

namespace highwater::fakecuda {
namespace {

constexpr int kSuccess = 0, kInvalidArgument = 2, kInsufficientSize = 7;
constexpr unsigned kNoInstance = 0xffffffff;

struct NvmlDevice {
  int index;
};

// nvmlMemory_t
struct NvmlMemory {
  unsigned long long total, free, used;
};

// nvmlMemory_v2_t
struct NvmlMemory2 {
  unsigned version;
  unsigned long long total, reserved, free, used;
};

// nvmlProcessInfo_v1_t
struct NvmlProcess1 {
  unsigned pid;
  unsigned long long used;
};

// nvmlProcessInfo_v2_t, also of the third variant of the function
struct NvmlProcess2 {
  unsigned pid;
  unsigned long long used;
  unsigned gpu_instance, compute_instance;
};

NvmlDevice* device_at(unsigned index) {
  static NvmlDevice devices[kMaxDevices] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
  return index < kMaxDevices ? &devices[index] : nullptr;
}

NvmlMemory memory_of(const NvmlDevice& device) {
  const MemoryInfo info = memory_info(device.index);
  return {info.total, info.free, info.total - info.free};
}

// Returns the number of processes, and describes them if there is room.
template <class Process>
int put_processes(unsigned* count, Process* processes, Process only) {
  const bool fits = *count >= 1 && processes != nullptr;
  *count = 1;
  if (fits) {
    *processes = only;
  }
  return fits ? kSuccess : kInsufficientSize;
}

}  // namespace

FAKECUDA_API int nvmlInit_v2() {
  settings();
  return kSuccess;
}

FAKECUDA_API int nvmlInit() {
  return nvmlInit_v2();
}

FAKECUDA_API const char* nvmlErrorString(int error) {
  return error == kSuccess ? "Success" : "error of the fake NVML";
}

// NVML ignores CUDA_VISIBLE_DEVICES: its numbers must name devices.
FAKECUDA_API int nvmlDeviceGetCount_v2(unsigned* count) {
  const bool chosen = std::getenv("CUDA_VISIBLE_DEVICES") != nullptr;
  *count = static_cast<unsigned>(chosen ? kMaxDevices : settings().devices);
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetCount(unsigned* count) {
  return nvmlDeviceGetCount_v2(count);
}

FAKECUDA_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, NvmlDevice** device) {
  *device = device_at(index);
  return *device == nullptr ? kInvalidArgument : kSuccess;
}

FAKECUDA_API int nvmlDeviceGetHandleByIndex(unsigned index, NvmlDevice** device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

// "0000:01:00.0" is device 0.
FAKECUDA_API int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, NvmlDevice** device) {
  const char* const bus = std::strchr(bus_id, ':');
  const unsigned long number = bus == nullptr ? 0 : std::strtoul(bus + 1, nullptr, 16);
  *device = number == 0 ? nullptr : device_at(static_cast<unsigned>(number - 1));
  return *device == nullptr ? kInvalidArgument : kSuccess;
}

FAKECUDA_API int nvmlDeviceGetHandleByUUID(const char*, NvmlDevice** device) {
  *device = device_at(0);
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetIndex(const NvmlDevice* device, unsigned* index) {
  *index = static_cast<unsigned>(device->index);
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetName(const NvmlDevice*, char* name, unsigned size) {
  std::snprintf(name, size, "%s", settings().gpu.name.c_str());
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetUUID(const NvmlDevice* device, char* uuid, unsigned size) {
  std::snprintf(uuid, size, "GPU-7f000000-0000-0000-0000-%012d", device->index);
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetCudaComputeCapability(const NvmlDevice*, int* major, int* minor) {
  *major = settings().gpu.major;
  *minor = settings().gpu.minor;
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetMemoryInfo(const NvmlDevice* device, NvmlMemory* memory) {
  *memory = memory_of(*device);
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetMemoryInfo_v2(const NvmlDevice* device, NvmlMemory2* memory) {
  const NvmlMemory now = memory_of(*device);
  *memory = {memory->version, now.total, 0, now.free, now.used};
  return kSuccess;
}

FAKECUDA_API int nvmlDeviceGetComputeRunningProcesses(const NvmlDevice* device, unsigned* count,
                                                      NvmlProcess1* processes) {
  const NvmlProcess1 self = {static_cast<unsigned>(getpid()), memory_of(*device).used};
  return put_processes(count, processes, self);
}

FAKECUDA_API int nvmlDeviceGetComputeRunningProcesses_v3(const NvmlDevice* device, unsigned* count,
                                                         NvmlProcess2* processes) {
  const NvmlProcess2 self = {static_cast<unsigned>(getpid()), memory_of(*device).used, kNoInstance,
                             kNoInstance};
  return put_processes(count, processes, self);
}

FAKECUDA_API int nvmlDeviceGetComputeRunningProcesses_v2(const NvmlDevice* device, unsigned* count,
                                                         NvmlProcess2* processes) {
  return nvmlDeviceGetComputeRunningProcesses_v3(device, count, processes);
}

FAKECUDA_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = kDriverVersion;
  return kSuccess;
}

FAKECUDA_API int nvmlSystemGetCudaDriverVersion(int* version) {
  return nvmlSystemGetCudaDriverVersion_v2(version);
}

FAKECUDA_API int nvmlSystemGetDriverVersion(char* version, unsigned size) {
  std::snprintf(version, size, "%d.00", kDriverVersion / 100);
  return kSuccess;
}

}  // namespace highwater::fakecuda
