#include "workloads/nn/freeze.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::nn {
namespace {

constexpr std::string_view kAllBut = "all-but:";

/// Whether the parameter is of this name, or inside a module whose path ends with it.
bool is_of(std::string_view parameter, std::string_view name) {
  return fmt::format(".{}.", parameter).find(fmt::format(".{}.", name)) != std::string::npos;
}

}  // namespace

void apply_freeze(Module& root) {
  std::vector<std::string> names = root.context().plan.frozen;
  const bool spares = names.front().starts_with(kAllBut);
  if (spares) {
    names.front().erase(0, kAllBut.size());
  }
  bool is_any = false;
  for (const auto& parameter : named_parameters(root)) {
    const bool is_named = std::ranges::any_of(
        names, [&](const std::string& name) { return is_of(parameter.name, name); });
    is_any = is_any || is_named;
    if (is_named != spares) {
      parameter.tensor->requires_grad = false;
    }
  }
  if (!is_any) {
    throw InputError("plan", "freeze",
                     fmt::format("the model has no module called {}", fmt::join(names, ", ")),
                     "give the last parts of module paths, e.g. embeddings or h.0");
  }
}

}  // namespace highwater::nn
