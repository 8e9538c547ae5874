// Workspaces of reductions, which grow with the length of a sum until the GPU is busy and no
// further.
//
// A kernel that sums many values into few results asks for a staging buffer and a counter, and
// gives both back at once: buffer, counters, free, free. Where a live block has the size of what is
// summed in every recording, the kernel's rule (ReductionWay::law) says what the buffer is at any
// size of that block: from where on there is one, and where it stops to grow. What fits no rule
// stays a fitted size, but no confirmed one: it may stop to grow as well.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "sim/scaling/run_side.hpp"
#include "sim/scaling/size_fit.hpp"

namespace highwater {

/// The workspace of a reduction at any length of its sums.
struct WorkspaceLaw {
  Bytes unit;                          ///< of the buffer, for each block of threads
  std::uint64_t values_per_block = 1;  ///< of one sum
  std::uint64_t most_blocks = 1;
  std::uint64_t resume = 0;         ///< as SizeFormula::resume
  std::uint64_t fewest_values = 0;  ///< shorter sums have no workspace
  Bytes semaphores;

  [[nodiscard]] Bytes buffer(std::uint64_t values) const;
};

/// One way in which kernels reduce: what elements they read and write.
struct ReductionWay {
  std::uint64_t input_item = 4;   ///< bytes of an element
  std::uint64_t output_item = 4;  ///< of a result
  bool is_whole = false;          ///< everything into one result
  std::function<std::optional<WorkspaceLaw>(std::uint64_t values, std::uint64_t results)> law;
};

/// The likelier come first.
using ReductionWays = std::vector<ReductionWay>;

struct FoundWorkspaces {
  std::map<std::uint32_t, SizeFormula> formulas;  ///< by ordinal: of buffers and counters
  std::vector<std::uint32_t> unexplained;         ///< buffers that no way explains
};

/// Of the requests of `base`, which is recording number `point`. `samples` are by its ordinals.
FoundWorkspaces find_workspaces(const RunSide& base, std::size_t point,
                                const std::vector<SizeSamples>& samples, const ReductionWays& ways,
                                SizeFitter& fitter);

}  // namespace highwater
