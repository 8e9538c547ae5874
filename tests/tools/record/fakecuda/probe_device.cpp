// Devices, errors, processes.
#include <atomic>
#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/tools/record/fakecuda/cuda_api.hpp"
#include "tests/tools/record/fakecuda/probe.hpp"

namespace highwater::fakecuda_probe {
namespace {

int get_properties(abi::DeviceProperties* properties, int device) {
#if FAKECUDA_MAJOR >= 13
  return cudaGetDeviceProperties(properties, device);
#else
  return cudaGetDeviceProperties_v2(properties, device);
#endif
}

int device_count() {
  int count = 0;
  cudaGetDeviceCount(&count);
  return count;
}

bool primary_context_exists(int device) {
  int active = 0;
  cuDevicePrimaryCtxGetState(device, nullptr, &active);
  return active != 0;
}

}  // namespace

void properties() {
  abi::DeviceProperties properties;
  const int error = get_properties(&properties, 0);
  say("error %d devices %d", error, device_count());
  if (error != 0) {
    return;
  }
  say("name %s", properties.name);
  say("capability %d.%d", properties.major, properties.minor);
  say("multiprocessors %d", properties.multiProcessorCount);
  say("memory %zu", properties.totalGlobalMem);
  say("threads %d", properties.maxThreadsPerMultiProcessor);
  say("blocks %d", properties.maxBlocksPerMultiProcessor);
  say("l2 %d", properties.l2CacheSize);
  say("shared %zu %zu", properties.sharedMemPerMultiprocessor, properties.sharedMemPerBlockOptin);
  say("cluster %d", properties.clusterLaunch);
}

void errors() {
  say("set device 8: %d", cudaSetDevice(8));
  const int error = cudaGetLastError();
  say("last %d %s", error, cudaGetErrorString(error));
  say("then %d", cudaGetLastError());
  say("free of nothing known: %d", cudaFree(42));
  say("contexts %d", primary_context_exists(0));
  cudaSetDevice(0);
  say("contexts %d", primary_context_exists(0));
}

// DataLoader workers: a child may use what the parent had, whatever the parent's other threads were
// doing.
void forked() {
  std::atomic<bool> over{false};
  std::thread busy([&] {
    for (std::uint64_t address = 0; !over;) {
      cudaMalloc(&address, kMiB);
      cudaFree(address);
    }
  });
  std::uint64_t mine = 0;
  cudaMalloc(&mine, kMiB);
  int went_on = 0;
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(30);
      std::uint64_t address = 0;
      _exit(cudaMalloc(&address, kMiB) == 0 && address > mine ? 7 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    went_on += WIFEXITED(status) && WEXITSTATUS(status) == 7 ? 1 : 0;
  }
  over = true;
  busy.join();
  say("children that went on %d", went_on);
  say("parent %d", cudaFree(mine));
}

// Programs free memory from destructors that run after exit() began.
void late() {
  static std::uint64_t address = 0;
  std::atexit([] {
    say("free %d", cudaFree(address));
    std::fflush(stdout);
  });
  cudaMalloc(&address, kMiB);
}

void nvml() {
  std::uint64_t address = 0;
  cudaMalloc(&address, 4 * kMiB);
  void* device = nullptr;
  unsigned long long memory[3] = {};
  say("init %d", nvmlInit_v2());
  say("handle %d", nvmlDeviceGetHandleByIndex_v2(0, &device));
  nvmlDeviceGetMemoryInfo(device, memory);
  say("total %llu free %llu used %llu", memory[0], memory[1], memory[2]);
  say("device 8: %d", nvmlDeviceGetHandleByIndex_v2(8, &device));
}

}  // namespace highwater::fakecuda_probe
