// Who asked for a block of a generated trace.
#pragma once

#include <string>
#include <string_view>

#include "traces/request_trace.hpp"

namespace highwater {

struct Site {
  std::string op;        ///< operator
  std::string autograd;  ///< backward node, if one ran
  std::string module;    ///< module path

  auto operator<=>(const Site&) const = default;
};

/// The site that the stack of a generated trace names.
Site site_of(const SideTables& tables, StackId stack);

/// "model.layers.17.mlp" -> "model.layers.*.mlp": the same place of all layers is one place.
std::string without_indices(std::string_view path);

}  // namespace highwater
