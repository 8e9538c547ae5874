#include "sim/scaling/scaled_requests.hpp"

#include <algorithm>
#include <vector>

#include "sim/scaling/size_at.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

std::vector<SizeAt> sizes_at(const ScalableProgram& program, const Values& values,
                             EstimatedSizes estimated) {
  std::vector<SizeAt> sizes;
  for (const SizeFormula& formula : program.formulas) {
    const auto size = size_at(formula, values);
    if (!size) {
      throw UsageError("a size exceeds 2^62 bytes at these values; use smaller ones");
    }
    sizes.push_back(*size);
    if (formula.basis == FormulaBasis::estimated && estimated != EstimatedSizes::likely) {
      Bytes& bytes = sizes.back().bytes;
      bytes = estimated == EstimatedSizes::smallest ? std::min(bytes, formula.largest_recorded)
                                                    : bytes * 2;
    }
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

}  // namespace

ScaledRequests requests_at(const ScalableProgram& program, const Values& values,
                           EstimatedSizes estimated) {
  const std::vector<SizeAt> sizes = sizes_at(program, values, estimated);
  ScaledRequests result;
  result.trace = without_events(program.requests);
  for (Event event : program.requests.events) {
    if (event.kind == EventKind::alloc) {
      const SizeAt& size = sizes[event.value];
      count(program.formulas[event.value], size, result);
      event.value = size.bytes.count();
    }
    if (event.kind != EventKind::alloc || event.value != 0) {
      result.trace.events.push_back(event);
    }
  }
  return result;
}

}  // namespace highwater
