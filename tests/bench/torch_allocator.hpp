// PyTorch's own allocator library, timed: libc10_cuda of an installed wheel over the fake CUDA
// libraries of tools/record, without Python and without the rest of PyTorch.
//
// The library exports the pointer to its allocator object; the methods are called through the
// object's table of virtual functions, whose places depend on the release.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tests/bench/workloads.hpp"

namespace highwater::bench {

struct TorchMeasurement {
  double nanoseconds = 0;           ///< per operation
  std::uint64_t peak_reserved = 0;  ///< bytes; nothing is given back in these workloads
};

class TorchLibrary {
 public:
  /// `torch` is the folder of an installed torch package, `fakecuda` the one with cuda12 and
  /// cuda13.
  TorchLibrary(std::string torch, std::string fakecuda);

  /// "PyTorch 2.15.0"
  [[nodiscard]] std::string name() const { return "PyTorch " + release_; }

  /// Why it cannot be measured; empty if it can.
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }

  /// In a process of its own, because the library reads its settings once and keeps its memory.
  /// Nothing for a workload with several streams.
  [[nodiscard]] std::optional<TorchMeasurement> measure(const Workload& workload) const;

 private:
  std::string torch_;
  std::string fakecuda_;
  std::string release_;
  std::string obstacle_;
};

}  // namespace highwater::bench
