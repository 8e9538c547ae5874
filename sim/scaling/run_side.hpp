// One recording of a program, cut into phases, with what its requests are told apart by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/diff/aligned_side.hpp"
#include "sim/scaling/monomials.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// A recording that a program is fitted to. `requests` must outlive the fit.
struct FitRun {
  std::string name;
  const RequestTrace* requests = nullptr;
  Values values;
};

/// What is on both sides when two recordings are aligned.
struct RunSide : AlignedSide {
  explicit RunSide(const FitRun& run);

  const RequestTrace* trace;
  std::vector<std::uint64_t> sites;  ///< by ordinal: equal for equal call stacks and streams

  [[nodiscard]] const ComparedRequest& request_of(std::uint32_t ordinal) const {
    return requests[allocated_at[ordinal]];
  }
};

}  // namespace highwater
