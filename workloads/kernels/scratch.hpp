// What the host code of a CUDA kernel does with the caching allocator, as a short script.
//
// All functions of this folder return bytes as requested (not rounded). A size of 0 means that no
// block is requested. The stated order holds for PyTorch 2.6 and was seen in recordings.
#pragma once

#include <cstdint>
#include <vector>

namespace highwater {

/// One step of a script: block `block` (numbered in allocation order) is allocated, or freed if
/// `bytes` is 0. Blocks that no step frees are the operator's results.
struct ScratchStep {
  int block = 0;
  std::int64_t bytes = 0;

  bool operator==(const ScratchStep&) const = default;
};

using ScratchScript = std::vector<ScratchStep>;

}  // namespace highwater
