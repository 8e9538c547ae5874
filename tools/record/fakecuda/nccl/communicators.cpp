// Communicators know their rank and size; nothing checks whether the other ranks exist.
#include "tools/record/fakecuda/nccl/communicators.hpp"

#include <cstddef>
#include <cstring>

#include "tools/record/fakecuda/api.hpp"
#include "tools/record/fakecuda/core/announced_split.hpp"
#include "tools/record/fakecuda/core/current_device.hpp"
#include "tools/record/fakecuda/core/device_memory.hpp"
#include "tools/record/fakecuda/core/settings.hpp"
#include "tools/record/fakecuda/versions.hpp"

namespace highwater::fakecuda {
namespace {

constexpr int kSuccess = 0, kSystemError = 2;
constexpr int kNoColor = -1;  // NCCL_SPLIT_NOCOLOR

struct UniqueId {
  char bytes[128];
};

int make(Communicator** communicator, int size, int rank, int device) {
  *communicator = new Communicator{.rank = rank, .size = size, .device = device, .opaque = {}};
  return kSuccess;
}

}  // namespace

FAKECUDA_API int ncclGetVersion(int* version) {
  *version = settings().nccl_version > 0 ? settings().nccl_version : kNcclVersion;
  return kSuccess;
}

FAKECUDA_API int ncclGetUniqueId(UniqueId* id) {
  std::memset(id, 7, sizeof *id);
  return kSuccess;
}

FAKECUDA_API int ncclCommGetUniqueId(const Communicator*, UniqueId* id) {
  return ncclGetUniqueId(id);
}

FAKECUDA_API int ncclCommInitRank(Communicator** communicator, int size, UniqueId, int rank) {
  return make(communicator, size, rank, current_device());
}

FAKECUDA_API int ncclCommInitRankConfig(Communicator** communicator, int size, UniqueId, int rank,
                                        const void*) {
  return make(communicator, size, rank, current_device());
}

FAKECUDA_API int ncclCommInitRankScalable(Communicator** communicator, int size, int rank, int,
                                          const UniqueId*, const void*) {
  return make(communicator, size, rank, current_device());
}

FAKECUDA_API int ncclCommInitAll(Communicator** communicators, int count, const int* devices) {
  for (int i = 0; i < count; ++i) {
    make(&communicators[i], count, i, devices == nullptr ? i : devices[i]);
  }
  return kSuccess;
}

// Only the other ranks know how many ranks share the color, and PyTorch, which may have announced
// it.
FAKECUDA_API int ncclCommSplit(const Communicator* parent, int color, int,
                               Communicator** communicator, const void*) {
  if (color == kNoColor) {
    *communicator = nullptr;
    return kSuccess;
  }
  const Place place = take_announced_split().value_or(Place{parent->rank, parent->size});
  return make(communicator, place.size, place.rank, parent->device);
}

FAKECUDA_API int ncclCommShrink(const Communicator* parent, const int*, int excluded,
                                Communicator** communicator, const void*, int) {
  return make(communicator, parent->size - excluded, parent->rank, parent->device);
}

FAKECUDA_API int ncclCommDestroy(Communicator* communicator) {
  delete communicator;
  return kSuccess;
}

FAKECUDA_API int ncclCommAbort(Communicator* communicator) {
  delete communicator;
  return kSuccess;
}

FAKECUDA_API int ncclCommCount(const Communicator* communicator, int* size) {
  *size = communicator->size;
  return kSuccess;
}

FAKECUDA_API int ncclCommUserRank(const Communicator* communicator, int* rank) {
  *rank = communicator->rank;
  return kSuccess;
}

FAKECUDA_API int ncclCommCuDevice(const Communicator* communicator, int* device) {
  *device = communicator->device;
  return kSuccess;
}

FAKECUDA_API int ncclCommGetAsyncError(const Communicator*, int* error) {
  *error = kSuccess;
  return kSuccess;
}

FAKECUDA_API int ncclCommRegister(const Communicator*, void*, std::size_t, void** handle) {
  *handle = handle;
  return kSuccess;
}

FAKECUDA_API int ncclCommWindowRegister(const Communicator*, void*, std::size_t, void** window,
                                        int) {
  *window = window;
  return kSuccess;
}

FAKECUDA_API int ncclMemAlloc(std::uint64_t* address, std::size_t size) {
  const auto made = allocate(current_device(), size);
  *address = made.value_or(0);
  return made ? kSuccess : kSystemError;
}

FAKECUDA_API int ncclMemFree(std::uint64_t address) {
  return deallocate(address) ? kSuccess : kSystemError;
}

FAKECUDA_API const char* ncclGetErrorString(int error) {
  return error == kSuccess ? "no error" : "error of the fake NCCL";
}

FAKECUDA_API const char* ncclGetLastError(const Communicator*) {
  return "";
}

}  // namespace highwater::fakecuda
