// How much of each device is taken: by this process, or by all processes that share the device.
//
// A driver counts the memory of all processes together. Processes whose FAKE_CUDA_SHARED names the
// same file do so here: the file holds one counter for each device, and a process gives back what
// it holds when it exits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tools/record/fakecuda/core/settings.hpp"

namespace highwater::fakecuda {

class UsedMemory {
 public:
  UsedMemory();

  /// False, and nothing is taken, if less than `size` is free.
  bool take(int device, std::uint64_t size);

  void give_back(int device, std::uint64_t size);

  /// What is taken, contexts included: this process's is made at the first question.
  std::uint64_t of(int device);

  /// The process ends: it holds nothing of a shared device any more.
  void leave();

 private:
  using Counters = std::array<std::uint64_t, kMaxDevices>;

  void make_context(std::size_t device);

  Counters own_{};  ///< of this process
  std::array<bool, kMaxDevices> has_context_{};
  Counters* all_ = &own_;  ///< of all processes: in the file, if there is one
  int process_ = 0;        ///< children of fork() hold nothing of their own
};

}  // namespace highwater::fakecuda
