#include "sim/scaling/scaled_requests.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/scaling/scratch_sizes.hpp"
#include "sim/scaling/size_at.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

/// What a size is if it has stopped to grow, or grows twice as much.
Bytes changed(const SizeFormula& formula, Bytes bytes, bool is_scratch, EstimatedSizes estimated) {
  const bool is_estimated = formula.basis == FormulaBasis::estimated;
  if (estimated == EstimatedSizes::smallest && (is_estimated || is_scratch)) {
    return std::min(bytes, formula.largest_recorded);
  }
  return estimated == EstimatedSizes::largest && is_estimated ? bytes * 2 : bytes;
}

std::vector<SizeAt> sizes_at(const ScalableProgram& program, const Values& values,
                             const std::vector<bool>& scratch, EstimatedSizes estimated) {
  std::vector<SizeAt> sizes;
  for (const SizeFormula& formula : program.formulas) {
    const auto size = size_at(formula, values);
    if (!size) {
      throw UsageError("a size exceeds 2^62 bytes at these values; use smaller ones");
    }
    const bool is_scratch = scratch[sizes.size()];
    sizes.push_back({changed(formula, size->bytes, is_scratch, estimated), size->is_rounded});
  }
  return sizes;
}

void count(const SizeFormula& formula, const SizeAt& size, ScaledRequests& result) {
  result.rounded += size.is_rounded ? 1U : 0U;
  if (formula.basis == FormulaBasis::estimated) {
    ++result.estimated;
    result.largest_estimated = std::max(result.largest_estimated, size.bytes);
  } else if (formula.basis == FormulaBasis::determined) {
    ++result.determined;
    result.largest_determined = std::max(result.largest_determined, size.bytes);
  }
}

/// Calls `visit` with every event and whether the bytes that are live have reached a new maximum.
template <class Visit>
void follow_live_bytes(const RequestTrace& trace, const Visit& visit) {
  std::vector<std::uint64_t> bytes(trace.allocation_count);
  std::uint64_t live = 0;
  std::uint64_t most = 0;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc) {
      bytes[event.allocation.index()] = event.value;
      live += event.value;
    } else if (event.kind == EventKind::free) {
      live -= std::exchange(bytes[event.allocation.index()], 0);
    }
    visit(event, live > most);
    most = std::max(most, live);
  }
}

/// The number of events up to the highest point.
std::size_t highest_point(const RequestTrace& trace) {
  std::size_t highest = 0;
  std::size_t seen = 0;
  follow_live_bytes(trace, [&](const Event&, bool is_highest) {
    ++seen;
    highest = is_highest ? seen : highest;
  });
  return highest;
}

ScratchAtPeak scratch_at_peak(const ScalableProgram& program, const ScaledRequests& requests,
                              const std::vector<bool>& scratch) {
  std::map<std::size_t, std::pair<std::uint64_t, const Event*>> live;  // formula, request
  const std::size_t end = highest_point(requests.trace);
  std::size_t ordinal = 0;
  for (std::size_t i = 0; i < end; ++i) {
    const Event& event = requests.trace.events[i];
    if (event.kind == EventKind::alloc && scratch[requests.formulas[ordinal]]) {
      live[event.allocation.index()] = {requests.formulas[ordinal], &event};
    } else if (event.kind == EventKind::free) {
      live.erase(event.allocation.index());
    }
    ordinal += event.kind == EventKind::alloc ? 1U : 0U;
  }
  ScratchAtPeak found;
  for (const auto& [allocation, request] : live) {
    const auto& [formula, event] = request;
    ++found.requests;
    found.total += event->bytes();
    if (event->bytes() > found.largest) {
      found.largest = event->bytes();
      found.largest_recorded = program.formulas[formula].largest_recorded;
      found.stack = event->stack;
    }
  }
  return found;
}

}  // namespace

ScaledRequests requests_at(const ScalableProgram& program, const Values& values,
                           EstimatedSizes estimated) {
  const std::vector<bool> scratch = scratch_formulas(program, values);
  const std::vector<SizeAt> sizes = sizes_at(program, values, scratch, estimated);
  ScaledRequests result;
  result.trace = without_events(program.requests);
  for (Event event : program.requests.events) {
    if (event.kind == EventKind::alloc) {
      const std::uint64_t formula = event.value;
      const SizeAt& size = sizes[formula];
      event.value = size.bytes.count();
      if (event.value == 0) {
        continue;
      }
      count(program.formulas[formula], size, result);
      result.formulas.push_back(formula);
    }
    result.trace.events.push_back(event);
  }
  result.scratch = scratch_at_peak(program, result, scratch);
  return result;
}

}  // namespace highwater
