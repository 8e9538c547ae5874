// The result of a closed form: named terms and their sum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "traces/units.hpp"
#include "workloads/estimates/terms/memory_part.hpp"

namespace highwater {

/// One addend of a closed form.
struct EstimateTerm {
  std::string name;      ///< "optimizer states"
  std::string equation;  ///< as the source writes it, in its symbols: "12 P / N"
  double bytes = 0;      ///< not rounded: sources divide by ranks without rounding
  PartSet covers;        ///< the part of a process's memory that the term stands for
};

/// A closed form's answer: bytes on one GPU.
struct Estimate {
  std::vector<EstimateTerm> terms;

  /// The sum of the terms.
  [[nodiscard]] double bytes() const;
};

/// The terms in whole bytes, rounded so that they sum to the rounded total.
std::vector<std::int64_t> whole_bytes(const Estimate& estimate);

}  // namespace highwater
