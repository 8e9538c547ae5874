#include "tools/record/fakecuda/core/copies.hpp"

#include <cstdint>
#include <cstring>

#include "tools/record/fakecuda/core/answers.hpp"
#include "tools/record/fakecuda/core/contents.hpp"
#include "tools/record/fakecuda/core/device_memory.hpp"
#include "tools/record/fakecuda/core/host_memory.hpp"
#include "tools/record/fakecuda/core/log.hpp"

namespace highwater::fakecuda {
namespace {

std::uint64_t number(const void* address) {
  return reinterpret_cast<std::uint64_t>(address);
}

void copy_to_host(void* to, const void* from, std::size_t size) {
  if (take_answer(to, size)) {
    return;
  }
  zero_host(to, size);
  if (read_contents(to, number(from), size) < size) {
    count_unknown_read(size);
  }
}

void log_copy(bool from_device, bool to_device, std::size_t size) {
  if (logs_kernels()) {
    log_line("copy %s-to-%s %zu\n", from_device ? "device" : "host", to_device ? "device" : "host",
             size);
  }
}

}  // namespace

void copy_memory(void* to, const void* from, std::size_t size) {
  const bool from_device = device_of(from).has_value();
  const bool to_device = device_of(to).has_value();
  if (from_device && to_device) {
    move_contents(number(to), number(from), size);
  } else if (to_device) {
    write_contents(number(to), from, size);
  } else if (from_device) {
    copy_to_host(to, from, size);
  } else if (size > 0) {
    std::memmove(to, from, size);
  }
  log_copy(from_device, to_device, size);
}

void fill_memory(void* to, int value, std::size_t size) {
  if (device_of(to)) {
    forget_contents(number(to), size);
  } else {
    std::memset(to, value, size);
  }
}

}  // namespace highwater::fakecuda
