// The size that a formula gives for values of the named integers.
#pragma once

#include <optional>
#include <span>

#include "sim/scaling/monomials.hpp"

namespace highwater {

struct SizeAt {
  Bytes bytes;
  bool is_rounded = false;  ///< the sum was no whole number, though the formula says that it is one
};

/// Nothing if it is not below 2^62 bytes.
std::optional<SizeAt> size_at(const SizeFormula& formula, std::span<const std::uint64_t> values);

}  // namespace highwater
