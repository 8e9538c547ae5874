// The requests that a program makes at values of its integers.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scaling/monomials.hpp"
#include "traces/request_trace.hpp"
#include "traces/scalable_program.hpp"

namespace highwater {

/// Which sizes the formulas that are estimated give.
enum class EstimatedSizes : std::uint8_t {
  likely,    ///< what their lines say
  smallest,  ///< no more than was recorded: they, and scratch, have stopped to grow
  largest,   ///< twice what their lines say
};

/// Scratch (scratch_sizes.hpp) that is live where most bytes are.
struct ScratchAtPeak {
  std::uint64_t requests = 0;
  Bytes total;
  Bytes largest;           ///< one of them
  Bytes largest_recorded;  ///< the most that a recording shows of this one
  StackId stack;           ///< who asks for it, in the tables of the trace
};

struct ScaledRequests {
  RequestTrace trace;
  std::uint64_t estimated = 0;   ///< requests whose size is estimated
  Bytes largest_estimated;       ///< one of them
  std::uint64_t determined = 0;  ///< requests whose formula nothing checks
  Bytes largest_determined;
  std::uint64_t rounded = 0;  ///< requests whose formula gives no whole number of bytes here
  std::vector<std::uint64_t> formulas;  ///< by allocation of the trace: the number of its formula
  ScratchAtPeak scratch;
};

/// A request of no bytes is left out: PyTorch does not make it.
/// @throws UsageError for values at which a size exceeds 2^62 bytes
ScaledRequests requests_at(const ScalableProgram& program, const Values& values,
                           EstimatedSizes estimated = EstimatedSizes::likely);

}  // namespace highwater
