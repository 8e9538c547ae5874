// torch.cuda.reset_peak_memory_stats() and max_memory_allocated() of a run that is being generated.
//
// Colossal-AI's placement policy "auto" measures the first iteration with them
// (zero/gemini/memory_tracer/memory_monitor.py, SyncCudaMemoryMonitor). Blocks are counted with the
// allocator's rounding to 512 bytes; a remainder that it does not split off, less than 1 MiB a
// block, is left out.
#pragma once

#include <vector>

#include "workloads/eager/runtime.hpp"

namespace highwater::dist {

class MemoryMonitor {
 public:
  explicit MemoryMonitor(const eager::Runtime& runtime) : runtime_(runtime) {}

  /// The peak starts again from what is allocated now.
  void reset_peak();

  [[nodiscard]] std::int64_t peak();

 private:
  void read_new_events();

  const eager::Runtime& runtime_;
  std::size_t read_ = 0;             ///< events of the trace so far
  std::vector<std::int64_t> sizes_;  ///< by allocation
  std::int64_t allocated_ = 0;
  std::int64_t peak_ = 0;
};

}  // namespace highwater::dist
