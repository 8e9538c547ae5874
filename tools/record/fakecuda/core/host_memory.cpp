#include "tools/record/fakecuda/core/host_memory.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <sys/mman.h>

#include "tools/record/fakecuda/core/lock.hpp"
#include "tools/record/fakecuda/core/log.hpp"

namespace highwater::fakecuda {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kBigFill = 1U << 20;

struct HostRange {
  std::size_t size;
  HostMemory kind;
};

using HostRanges = std::map<std::uint64_t, HostRange>;

HostRanges& ranges() {
  static auto* const made = new HostRanges;
  return *made;
}

std::uint64_t number(const void* address) {
  return reinterpret_cast<std::uint64_t>(address);
}

std::size_t whole_pages(std::size_t size) {
  return (size + kPage - 1) / kPage * kPage;
}

void fill_mapped(void* address, std::size_t size) {
  const std::uint64_t begin = number(address), end = begin + size;
  const std::uint64_t first = whole_pages(begin), last = end / kPage * kPage;
  std::memset(address, 0, first - begin);
  madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
  std::memset(reinterpret_cast<void*>(last), 0, end - last);
}

}  // namespace

void* allocate_host(std::size_t size, HostMemory kind) {
  const std::size_t whole = whole_pages(size == 0 ? 1 : size);
  void* const made = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (made == MAP_FAILED) {
    return nullptr;
  }
  const auto hold = hold_state();
  ranges()[number(made)] = {whole, kind};
  log_line("host malloc %p %zu\n", made, size);
  return made;
}

bool free_host(void* address) {
  const auto hold = hold_state();
  const auto found = ranges().find(number(address));
  if (found == ranges().end() || found->second.kind == HostMemory::registered) {
    return false;
  }
  munmap(address, found->second.size);
  ranges().erase(found);
  log_line("host free %p\n", address);
  return true;
}

void register_host(void* address, std::size_t size) {
  const auto hold = hold_state();
  ranges()[number(address)] = {size, HostMemory::registered};
}

bool unregister_host(void* address) {
  const auto hold = hold_state();
  const auto found = ranges().find(number(address));
  if (found == ranges().end() || found->second.kind != HostMemory::registered) {
    return false;
  }
  ranges().erase(found);
  return true;
}

std::optional<HostMemory> host_memory_at(const void* address) {
  const auto hold = hold_state();
  auto next = ranges().upper_bound(number(address));
  if (next == ranges().begin()) {
    return std::nullopt;
  }
  const auto& [begin, range] = *--next;
  if (number(address) >= begin + range.size) {
    return std::nullopt;
  }
  return range.kind;
}

void zero_host(void* address, std::size_t size) {
  const bool ours = size >= kBigFill && host_memory_at(address).value_or(HostMemory::registered) !=
                                            HostMemory::registered;
  if (ours) {
    fill_mapped(address, size);
  } else {
    std::memset(address, 0, size);
  }
}

}  // namespace highwater::fakecuda
