// What the time of a step takes for granted where machines and launch lines differ: what `plan` can
// be told besides the plan. tools/docs/plans.md has the table, with sources.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace highwater {

/// How tensor parallelism's sums in a layer's forward, and its gathers in backward, go on.
enum class TensorSums : std::uint8_t {
  waited_for,      ///< one after the other, as Megatron-Core does unless told otherwise
  beside_products  ///< in parts, beside the products that need them: --tp-comm-overlap
};

/// "not overlapped", "overlapped with matrix products"
std::string_view to_string(TensorSums sums);

struct TimeAssumptions {
  TensorSums tensor_sums = TensorSums::waited_for;
  /// Bytes per GPU and second to other machines, as a data sheet has it; absent: that of the DGX.
  std::optional<double> network;
};

}  // namespace highwater
