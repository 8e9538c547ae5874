// A program that uses the fake libraries as an application does. Each scenario prints what it saw,
// one fact a line; the tests compare that text.
#pragma once

#include <cstdint>
#include <cstdio>

namespace highwater::fakecuda_probe {

/// Prints a fact.
template <class... Values>
void say(const char* format, Values... values) {
  std::printf(format, values...);
  std::printf("\n");
}

inline void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);
}

constexpr std::uint64_t kMiB = 1ULL << 20;

void properties();
void errors();
void capacity();
void addresses();
void expandable();
void pool();
void pinned();
void ipc();
void streams();
void events();
void capture();
void contents();
void answers();
void device_variables();
void driver_launch();
void entry_points();
void cublas();
void computations_and_events();
void cublas_lt();
void compiler();
void occupancy();
void cudnn();
void cudnn_graph();
void cudnn_executions();
void nccl();
void nvml();
void unmodelled();
void forked();
void late();

}  // namespace highwater::fakecuda_probe
