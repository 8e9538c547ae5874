#include "tests/faults/failing_memory.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace highwater::test {
namespace {

std::atomic<std::uint64_t> counted = 0;
std::atomic<std::uint64_t> first_to_fail = 0;
std::atomic<Failing> how = Failing::once;

bool fails_now() {
  const std::uint64_t number = ++counted;
  const std::uint64_t first = first_to_fail;
  return first != 0 && (number == first || (number > first && how == Failing::from_then));
}

}  // namespace

void fail_allocation(std::uint64_t n, Failing failing) {
  how = failing;
  first_to_fail = n;
  counted = 0;
}

std::uint64_t counted_allocations() {
  return counted;
}

}  // namespace highwater::test

// All other forms without an alignment of their own call these.
void* operator new(std::size_t size) {
  void* const memory = highwater::test::fails_now() ? nullptr : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}

void operator delete(void* memory, std::size_t /*size*/) noexcept {
  std::free(memory);
}
