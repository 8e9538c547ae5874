#include "tools/record/fakecuda/core/launches.hpp"

#include <atomic>
#include <string>
#include <unordered_map>

#include "tools/record/fakecuda/core/contents.hpp"
#include "tools/record/fakecuda/core/lock.hpp"
#include "tools/record/fakecuda/core/log.hpp"

namespace highwater::fakecuda {
namespace {

std::atomic<std::uint64_t> launched{0};
std::atomic<std::uint64_t> kernels{0};

using Names = std::unordered_map<const void*, std::string>;

Names& names() {
  static auto* const made = new Names;
  return *made;
}

std::string name_of(const void* kernel) {
  const auto hold = hold_state();
  const auto found = names().find(kernel);
  return found == names().end() ? "?" : found->second;
}

}  // namespace

void launch_kernel(const void* kernel, Extent3 grid, Extent3 block) {
  ++launched;
  ++kernels;
  forget_all_contents();
  if (logs_kernels()) {
    log_line("kernel %s grid %u,%u,%u block %u,%u,%u\n", name_of(kernel).c_str(), grid.x, grid.y,
             grid.z, block.x, block.y, block.z);
  }
}

void launch_collective(const char* name) {
  ++launched;
  if (logs_kernels()) {
    log_line("library %s\n", name);
  }
}

void launch_computation(const char* name) {
  forget_all_contents();
  launch_collective(name);
}

void name_kernel(const void* kernel, const char* name) {
  if (logs_kernels()) {  // thousands of kernels are registered at start-up
    const auto hold = hold_state();
    names()[kernel] = name;
  }
}

std::uint64_t launch_count() {
  return launched;
}

std::uint64_t kernel_count() {
  return kernels;
}

}  // namespace highwater::fakecuda
