// One recording of a program, cut into phases, with what its requests are told apart by.
#pragma once

#include <cstdint>
#include <optional>
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

/// The buffer and the counters of a reduction: asked for one after the other, and given back at
/// once.
struct WorkspacePair {
  std::uint32_t buffer = 0;  ///< ordinals
  std::uint32_t counters = 0;
};

/// Whether request number `i` begins such a pair.
std::optional<WorkspacePair> workspace_at(const std::vector<ComparedRequest>& requests,
                                          std::size_t i);

/// What is on both sides when two recordings are aligned.
struct RunSide : AlignedSide {
  explicit RunSide(const FitRun& run);

  const RequestTrace* trace;
  std::vector<std::uint64_t> sites;  ///< by ordinal: equal for equal call stacks and streams, and
                                     ///< for workspaces, which others cannot be taken for

  [[nodiscard]] const ComparedRequest& request_of(std::uint32_t ordinal) const {
    return requests[allocated_at[ordinal]];
  }
};

}  // namespace highwater
