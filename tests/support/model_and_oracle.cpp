#include "tests/support/model_and_oracle.hpp"

#include <algorithm>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "allocator/caching_allocator.hpp"
#include "allocator/invariants.hpp"
#include "tests/support/oracle/naive_allocator.hpp"
#include "tests/support/program_runner.hpp"

namespace highwater::program {
namespace {

using ModelRunner = Runner<CachingAllocator>;
using OracleRunner = Runner<oracle::NaiveAllocator>;

/// "WHAT: model ..., oracle ..." for the first element that differs.
template <class Range>
std::optional<std::string> difference(std::string_view what, const Range& model,
                                      const Range& oracle) {
  const auto [m, o] = std::ranges::mismatch(model, oracle);
  if (m == model.end() && o == oracle.end()) {
    return std::nullopt;
  }
  const auto text = [](const Range& range, auto it) -> std::string {
    if (it == range.end()) {
      return "nothing";
    }
    if constexpr (std::is_same_v<typename Range::value_type, std::string>) {
      return *it;
    } else {
      return to_string(*it);
    }
  };
  return fmt::format("{}: model {}, oracle {}", what, text(model, m), text(oracle, o));
}

std::optional<std::string> broken_invariant(const ModelRunner& model) {
  const Statistics& statistics = model.allocator().statistics();
  const auto findings = check_invariants(model.allocator().memory_map(), statistics);
  if (!findings.empty()) {
    return findings.front();
  }
  const Bytes reserved = statistics.current_bytes(Stat::reserved_bytes);
  if (model.device().used() != reserved) {
    return fmt::format("the device holds {} bytes, the allocator {}", model.device().used().count(),
                       reserved.count());
  }
  return std::nullopt;
}

std::optional<std::string> final_difference(const ModelRunner& model, const OracleRunner& oracle) {
  if (auto found = difference("decisions", model.decisions(), oracle.decisions())) {
    return found;
  }
  if (auto found = difference("statistics", lines_of_statistics(model.allocator().statistics()),
                              lines_of_statistics(oracle.allocator().statistics()))) {
    return found;
  }
  return difference("map", lines_of_map(model.allocator().memory_map()),
                    lines_of_map(oracle.allocator().memory_map()));
}

}  // namespace

std::optional<std::string> problem_of(const Program& program, std::size_t check_every) {
  ModelRunner model(program);
  OracleRunner oracle(program);
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const StepResult by_model = model.step(program.instructions[i]);
    const StepResult by_oracle = oracle.step(program.instructions[i]);
    if (by_model != by_oracle) {
      return fmt::format("operation {}: model {}, oracle {}", i, to_string(by_model),
                         to_string(by_oracle));
    }
    if (model.device().used() != oracle.device().used()) {
      return fmt::format("operation {}: the devices are not equally full", i);
    }
    if (i % check_every == 0 || i + 1 == program.instructions.size()) {
      if (auto broken = broken_invariant(model)) {
        return fmt::format("operation {}: {}", i, *broken);
      }
    }
  }
  return final_difference(model, oracle);
}

std::string report(const Profile& profile, std::uint64_t seed, const Program& program) {
  const Program shortest =
      shrink(program, [](const Program& shorter) { return problem_of(shorter, 1).has_value(); });
  return fmt::format("profile {}, seed {}: {}\n{}", profile.name, seed,
                     problem_of(shortest, 1).value_or("gone"), to_trace(shortest));
}

}  // namespace highwater::program
