#include "tools/record/fakecuda/core/used_memory.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace highwater::fakecuda {
namespace {

/// The counters of the file, which is made if it does not exist: zeros.
void* shared_counters(const char* path, std::size_t bytes) {
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const bool is_ready = file >= 0 && ftruncate(file, static_cast<off_t>(bytes)) == 0;
  void* const got =
      is_ready ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  if (got == MAP_FAILED) {
    std::fprintf(stderr, "FAKE_CUDA_SHARED=%s: cannot be used; name a file that can be written\n",
                 path);
    std::_Exit(3);
  }
  close(file);
  return got;
}

std::atomic_ref<std::uint64_t> counter(std::uint64_t& count) {
  return std::atomic_ref(count);
}

}  // namespace

UsedMemory::UsedMemory() : process_(getpid()) {
  if (!settings().shared.empty()) {
    all_ = static_cast<Counters*>(shared_counters(settings().shared.c_str(), sizeof(Counters)));
  }
}

bool UsedMemory::take(int device, std::uint64_t size) {
  const auto i = static_cast<std::size_t>(device);
  make_context(i);
  const auto all = counter((*all_)[i]);
  std::uint64_t taken = all.load();
  do {
    if (taken > settings().capacity || size > settings().capacity - taken) {
      return false;
    }
  } while (!all.compare_exchange_weak(taken, taken + size));
  if (all_ != &own_) {
    own_[i] += size;
  }
  return true;
}

void UsedMemory::give_back(int device, std::uint64_t size) {
  const auto i = static_cast<std::size_t>(device);
  counter((*all_)[i]) -= size;
  if (all_ != &own_) {
    own_[i] -= size;
  }
}

std::uint64_t UsedMemory::of(int device) {
  make_context(static_cast<std::size_t>(device));
  return counter((*all_)[static_cast<std::size_t>(device)]).load();
}

void UsedMemory::leave() {
  if (all_ == &own_ || process_ != getpid()) {
    return;
  }
  for (std::size_t i = 0; i < own_.size(); ++i) {
    counter((*all_)[i]) -= own_[i];
  }
  all_ = &own_;
}

void UsedMemory::make_context(std::size_t device) {
  if (has_context_[device]) {
    return;
  }
  has_context_[device] = true;
  counter((*all_)[device]) += settings().context;
  if (all_ != &own_) {
    own_[device] += settings().context;
  }
}

}  // namespace highwater::fakecuda
