#include "workloads/estimates/terms/estimate.hpp"

#include <cmath>

namespace highwater {

double Estimate::bytes() const {
  double sum = 0;
  for (const EstimateTerm& term : terms) {
    sum += term.bytes;
  }
  return sum;
}

std::vector<std::int64_t> whole_bytes(const Estimate& estimate) {
  std::vector<std::int64_t> whole;
  double sum = 0;
  std::int64_t rounded_before = 0;
  for (const EstimateTerm& term : estimate.terms) {
    sum += term.bytes;
    const std::int64_t rounded = std::llround(sum);
    whole.push_back(rounded - rounded_before);
    rounded_before = rounded;
  }
  return whole;
}

}  // namespace highwater
