// Launches: counted, logged, and otherwise nothing. Events wait for them (see streams.hpp).
#pragma once

#include <cstdint>

namespace highwater::fakecuda {

/// The three numbers of a grid or a block.
struct Extent3 {
  unsigned x = 1, y = 1, z = 1;
};

/// A kernel was launched; it may have changed any device memory. `kernel` is its name in the log.
void launch_kernel(const void* kernel, Extent3 grid, Extent3 block);

/// A library's computation (cublasSgemm, ...) was launched: like a kernel.
void launch_computation(const char* name);

/// A collective was launched: it counts among the launches; its library handles what it does to
/// memory.
void launch_collective(const char* name);

/// The name under which a kernel's host stub or handle appears in the log.
void name_kernel(const void* kernel, const char* name);

/// All launches so far: kernels, computations and collectives.
std::uint64_t launch_count();

/// Kernels alone, by which events lag: how many kernels a computation of a library is made of is
/// not known here, and simulations count none for it (workloads/eager/stream_events.hpp).
std::uint64_t kernel_count();

}  // namespace highwater::fakecuda
