// Device and host memory.
#include "tests/tools/record/fakecuda/cuda_api.hpp"
#include "tests/tools/record/fakecuda/probe.hpp"

namespace highwater::fakecuda_probe {
namespace {

constexpr abi::AllocationProperties kOnDevice0 = {.type = 1, .location_type = 1, .location_id = 0};

std::uint64_t allocate(std::uint64_t mebibytes) {
  std::uint64_t address = 0;
  const int error = cudaMalloc(&address, mebibytes * kMiB);
  say("malloc %llu MiB: %d", static_cast<unsigned long long>(mebibytes), error);
  return address;
}

void say_free() {
  std::size_t free = 0, total = 0;
  cudaMemGetInfo(&free, &total);
  say("free %.1f of %.1f MiB", static_cast<double>(free) / static_cast<double>(kMiB),
      static_cast<double>(total) / static_cast<double>(kMiB));
}

abi::Handle create(std::uint64_t mebibytes) {
  abi::Handle handle = 0;
  say("create %llu MiB: %d", static_cast<unsigned long long>(mebibytes),
      cuMemCreate(&handle, mebibytes * kMiB, &kOnDevice0, 0));
  return handle;
}

}  // namespace

void capacity() {
  say_free();
  const std::uint64_t first = allocate(4);
  const std::uint64_t second = allocate(1);
  say_free();
  allocate(8);
  say("error stays: %d", cudaGetLastError());
  say("free %d %d", cudaFree(first), cudaFree(second));
  say("again %d", cudaFree(first));
  say_free();
}

void addresses() {
  const std::uint64_t first = allocate(2);
  const std::uint64_t second = allocate(2);
  cudaFree(first);
  const std::uint64_t third = allocate(2);
  say("second - first %llu", static_cast<unsigned long long>(second - first));
  say("third - first %llu", static_cast<unsigned long long>(third - first));
}

void expandable() {
  abi::DevicePointer base = 0;
  say("reserve %d", cuMemAddressReserve(&base, 64 * kMiB, 0, 0, 0));
  say_free();
  const abi::Handle handle = create(4);
  say("map %d", cuMemMap(base, 4 * kMiB, 0, handle, 0));
  say("map there again %d", cuMemMap(base, 4 * kMiB, 0, handle, 0));
  say("release %d", cuMemRelease(handle));
  say_free();
  create(6);
  abi::Handle odd = 0;
  say("odd size %d", cuMemCreate(&odd, 1, &kOnDevice0, 0));
  say("unmap %d", cuMemUnmap(base, 4 * kMiB));
  say_free();
  say("free addresses %d", cuMemAddressFree(base, 64 * kMiB));
  say("again %d", cuMemAddressFree(base, 64 * kMiB));
}

void pool() {
  void* pool = nullptr;
  std::uint64_t address = 0, used = 0, high = 0;
  say("pool %d", cudaDeviceGetDefaultMemPool(&pool, 0));
  say("malloc %d", cudaMallocAsync(&address, 3 * kMiB, 0));
  say("free %d", cudaFreeAsync(address, 0));
  cudaMemPoolGetAttribute(pool, abi::kMemPoolUsedMemCurrent, &used);
  cudaMemPoolGetAttribute(pool, abi::kMemPoolUsedMemHigh, &high);
  say("used %llu high %llu", static_cast<unsigned long long>(used),
      static_cast<unsigned long long>(high));
  say("too much %d", cudaMallocAsync(&address, 16 * kMiB, 0));
}

void pinned() {
  void* host = nullptr;
  std::uint64_t device = 0;
  cudaHostAlloc(&host, kMiB, 0);
  cudaMalloc(&device, kMiB);
  abi::PointerAttributes attributes;
  const auto say_type = [&](const char* name, const void* address) {
    cudaPointerGetAttributes(&attributes, address);
    say("%s %d", name, attributes.type);
  };
  say_type("pinned", static_cast<char*>(host) + 100);
  say_type("device", pointer(device + 100));
  say_type("ordinary", &attributes);
  say("free %d", cudaFreeHost(host));
  say("again %d", cudaFreeHost(host));
}

void ipc() {
  std::uint64_t address = 0, opened = 0;
  cudaMalloc(&address, 4 * kMiB);
  abi::IpcHandle handle;
  say("get %d", cudaIpcGetMemHandle(&handle, address + kMiB));
  say("open %d", cudaIpcOpenMemHandle(&opened, handle, 0));
  say("base %d", opened == address);
}

// A __device__ variable of a program: what nvcc's start-up code registers, then what the program
// asks.
void device_variables() {
  static char host[8], unknown[8];
  std::uint64_t address = 0, again = 0, other = 0;
  say("unknown %d", cudaGetSymbolAddress(&address, unknown));
  __cudaRegisterVar(nullptr, host, nullptr, "variable", 0, sizeof host, 0, 0);
  std::size_t size = 0;
  cudaGetSymbolSize(&size, host);
  say("size %zu", size);
  const int found = cudaGetSymbolAddress(&address, host);
  cudaGetSymbolAddress(&again, host);
  cudaSetDevice(1);
  cudaGetSymbolAddress(&other, host);
  cudaSetDevice(0);
  say("address %d, the same again %d, on the other device %d", found, again == address,
      other == address);
  say_free();
  const int value = 7;
  int read = -1;
  const int wrote = cudaMemcpyToSymbol(host, &value, sizeof value, 4, 1);
  cudaMemcpy(&read, pointer(address + 4), sizeof read, 2);
  say("write %d read %d", wrote, read);
  say("past its end %d", cudaMemcpyFromSymbol(&read, host, sizeof read, 5, 2));
  say("of nothing known %d", cudaMemcpyFromSymbol(&read, unknown, sizeof read, 0, 2));
}

}  // namespace highwater::fakecuda_probe
