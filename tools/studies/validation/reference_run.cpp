#include "tools/studies/validation/reference_run.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "tools/studies/validation/reference_llmem.hpp"
#include "tools/studies/validation/reference_recompute.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

constexpr std::array kSources{
    RecomputeEntry{"deepspeed.", recompute_deepspeed},
    RecomputeEntry{"nemo.", recompute_nemo},
    RecomputeEntry{"llmem.", recompute_llmem},
    RecomputeEntry{"4N.", recompute_others},
    RecomputeEntry{"limited.", recompute_others},
    RecomputeEntry{"zero.", recompute_others},
    RecomputeEntry{"korthikanti.", recompute_others},
    RecomputeEntry{"accelerate.", recompute_others},
    RecomputeEntry{"megatron.", recompute_others},
};

// The file has derived figures in full and the others with six decimals.
constexpr double kRelative = 1e-9;
constexpr double kHalfOfSixthDecimal = 0.5e-6;

/// False where inputs of 0 made a form divide by 0; JSON has no words for that.
bool is_finite(const json::value& computed) {
  return !computed.is_double() || std::isfinite(computed.get_double());
}

bool equals_reference(const json::value& computed, const json::value& reference,
                      ReferenceKind kind) {
  if (!computed.is_number() || !reference.is_number()) {
    return computed == reference;
  }
  const double wanted = reference.to_number<double>();
  const double slack =
      kRelative * std::abs(wanted) + (kind == ReferenceKind::derived ? 0 : kHalfOfSixthDecimal);
  return std::abs(computed.to_number<double>() - wanted) <= slack;
}

bool agrees(const json::value& computed, const ExpectedValue& expected) {
  if (!computed.is_number() || !expected.value.is_number()) {
    return computed == expected.value;
  }
  // Both bounds are decimal fractions: what is exactly at one must not fall out of it.
  const double slack = expected.tolerance * (1 + kRelative);
  return std::abs(computed.to_number<double>() - expected.value.to_number<double>()) <= slack;
}

const ExpectedValue* find_expected(const ReferenceCase& reference, std::string_view name) {
  const auto found = std::ranges::find(reference.expected, name, &ExpectedValue::name);
  return found == reference.expected.end() ? nullptr : &*found;
}

std::string problem_of(const ReferenceValue& value, ReferenceKind kind) {
  if (value.computed.is_null()) {
    return "not computed";
  }
  if (value.reference == nullptr) {
    return "computed, but the file has no such answer";
  }
  if (!equals_reference(value.computed, *value.reference, kind)) {
    return "differs from the file's answer";
  }
  if (value.expected != nullptr && value.agrees_with_source != value.expected->matches) {
    return value.agrees_with_source ? "agrees with the source, although the file marks a mismatch"
                                    : "differs from what the source prints";
  }
  return "";
}

ReferenceValue compare(const ReferenceCase& reference, std::string_view name,
                       const json::object& computed) {
  ReferenceValue value;
  value.name = name;
  value.expected = find_expected(reference, name);
  value.reference = reference.recomputed.if_contains(name);
  const json::value* const found = computed.if_contains(name);
  if (found != nullptr && is_finite(*found)) {
    value.computed = *found;
  }
  value.agrees_with_source = value.expected == nullptr || agrees(value.computed, *value.expected);
  value.problem = problem_of(value, reference.kind);
  return value;
}

/// The names of all figures: of the answers, printed without an answer, computed without one.
std::vector<std::string> names_of(const ReferenceCase& reference, const json::object& computed) {
  std::vector<std::string> names;
  const auto add = [&names](std::string_view name) {
    if (std::ranges::find(names, name) == names.end()) {
      names.emplace_back(name);
    }
  };
  for (const auto& answer : reference.recomputed) {
    add(answer.key());
  }
  for (const ExpectedValue& expected : reference.expected) {
    add(expected.name);
  }
  for (const auto& figure : computed) {
    add(figure.key());
  }
  return names;
}

void compare_all(const json::object& computed, ReferenceResult& result) {
  for (const std::string& name : names_of(*result.reference, computed)) {
    result.values.push_back(compare(*result.reference, name, computed));
  }
}

/// Observations that agree with themselves: the file only quotes them.
bool is_only_quoted(const ReferenceCase& reference) {
  return reference.kind == ReferenceKind::observation && reference.all_match;
}

ReferenceResult run_case(const ReferenceCase& reference, const json::object& question,
                         const json::array& questions) {
  ReferenceResult result;
  result.reference = &reference;
  if (is_only_quoted(reference)) {
    compare_all({}, result);
    for (ReferenceValue& value : result.values) {
      value.problem.clear();
    }
    result.verdict = ReferenceVerdict::shown;
    return result;
  }
  try {
    const json::object computed = recompute_by_id(kSources, question, questions);
    if (computed.empty()) {
      result.problem = "no closed form recomputes cases of this name";
      return result;
    }
    compare_all(computed, result);
  } catch (const std::exception& error) {  // inputs that are missing, wrong or unknown
    result.problem = error.what();
    return result;
  }
  const bool is_right = std::ranges::all_of(
      result.values, [](const ReferenceValue& value) { return value.problem.empty(); });
  result.verdict = is_right ? ReferenceVerdict::passed : ReferenceVerdict::failed;
  return result;
}

}  // namespace

std::string_view to_string(ReferenceVerdict verdict) {
  constexpr std::array<std::string_view, 3> kNames{"passed", "failed", "shown"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::optional<double> difference_of(const ReferenceValue& value) {
  if (value.reference == nullptr || !value.reference->is_number() || !value.computed.is_number()) {
    return std::nullopt;
  }
  const double wanted = value.reference->to_number<double>();
  const double difference = value.computed.to_number<double>() - wanted;
  return wanted == 0 ? difference : difference / wanted;
}

std::vector<ReferenceResult> run_reference(const ReferenceFile& file) {
  std::vector<ReferenceResult> results;
  for (std::size_t i = 0; i < file.cases.size(); ++i) {
    results.push_back(run_case(file.cases[i], file.questions[i].as_object(), file.questions));
  }
  return results;
}

}  // namespace highwater
