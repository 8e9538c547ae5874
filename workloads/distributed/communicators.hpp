// The NCCL communicators of a rank and the GPU memory they take outside the caching allocator.
//
// Every process group that runs a collective has its own communicator, whose channels have buffers
// that NCCL allocates itself. Their size depends on the topology and on NCCL's version; the figures
// here were measured on NVLink: 544 MiB for 2 ranks and 688 MiB for more on 4 A100s
// (github.com/NVIDIA/nccl/issues/964), and for all-to-all, which connects every pair, 4.34 - 1.06
// GB more with 8 H100s (github.com/NVIDIA/nccl/issues/1685), 0.47 GB for each peer of the same
// machine.
#pragma once

#include <string_view>
#include <vector>

#include "traces/units.hpp"

namespace highwater {
struct Parallelism;
}

namespace highwater::dist {

struct Communicator {
  std::string_view axis;  ///< "data parallel", "tensor parallel", ...
  int ranks = 0;
  Bytes memory;
};

/// The communicators of the rank that `parallel` names, one per axis with more than one rank.
/// PyTorch's fake backend has none.
std::vector<Communicator> communicators(const Parallelism& parallel);

/// Those of a rank under Colossal-AI's Gemini. Barriers and the overflow flag use the default
/// group, and each other list of ranks has a group of its own, even one of all ranks (Colossal-AI
/// 0.3.0, tensor/process_group.py: PyTorchProcessGroupDict, ProcessGroup;
/// context/parallel_context.py: init_global_dist; zero/gemini/gemini_optimizer.py:
/// _check_overflow).
std::vector<Communicator> gemini_communicators(const Parallelism& parallel);

}  // namespace highwater::dist
