#include "tools/reports/validation/reference_report.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// A figure for people: whole numbers in full, others with nine digits.
std::string shown(const json::value& value) {
  if (value.is_string()) {
    return std::string(value.get_string());
  }
  if (!value.is_number()) {
    return "-";
  }
  constexpr double kExact = 9007199254740992.0;  // 2^53
  const double number = value.to_number<double>();
  const bool is_whole = std::trunc(number) == number && std::abs(number) < kExact;
  return is_whole ? fmt::format("{:.0f}", number) : fmt::format("{:.9g}", number);
}

std::string exact(const json::value& value) {
  if (value.is_double()) {
    return fmt::format("{}", value.get_double());
  }
  return value.is_null() ? "" : shown(value);
}

std::string shown_reference(const ReferenceValue& value) {
  return value.reference == nullptr ? "-" : shown(*value.reference);
}

std::string shown_expected(const ReferenceValue& value) {
  return value.expected == nullptr ? "-" : shown(value.expected->value);
}

std::string unit_of(const ReferenceValue& value) {
  return value.expected == nullptr ? "" : value.expected->unit;
}

/// The largest difference of a case, or "-" if it has no numbers.
std::string worst_difference(const ReferenceResult& result) {
  std::optional<double> worst;
  for (const ReferenceValue& value : result.values) {
    if (const auto difference = difference_of(value)) {
      worst = std::max(worst.value_or(0), std::abs(*difference));
    }
  }
  return worst ? fmt::format("{:.1e}", *worst) : "-";
}

const std::string& explanation(const ReferenceCase& reference) {
  return reference.notes.empty() ? reference.formula : reference.notes;
}

std::uint64_t count_known_mismatches(const std::vector<ReferenceResult>& results) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(results, &ReferenceResult::is_known_mismatch));
}

json::object value_json(const ReferenceValue& value) {
  json::object object{
      {"name", valid_utf8(value.name)},
      {"computed", value.computed},
      {"reference", value.reference == nullptr ? json::value(nullptr) : *value.reference},
      {"source", nullptr},
      {"problem", value.problem.empty() ? json::value(nullptr) : json::value(value.problem)}};
  if (value.expected != nullptr) {
    object["source"] = {{"value", value.expected->value},
                        {"unit", valid_utf8(value.expected->unit)},
                        {"tolerance", value.expected->tolerance},
                        {"agrees", value.agrees_with_source}};
  }
  return object;
}

json::object result_json(const ReferenceResult& result) {
  const ReferenceCase& reference = *result.reference;
  json::object object{
      {"id", valid_utf8(reference.id)},
      {"source", valid_utf8(reference.source)},
      {"formula", valid_utf8(reference.formula)},
      {"notes", valid_utf8(reference.notes)},
      {"kind", to_string(reference.kind)},
      {"result", to_string(result.verdict)},
      {"known_mismatch", result.is_known_mismatch()},
      {"problem", result.problem.empty() ? json::value(nullptr) : json::value(result.problem)}};
  json::array& values = object["values"].emplace_array();
  for (const ReferenceValue& value : result.values) {
    values.push_back(value_json(value));
  }
  return object;
}

}  // namespace

TextTable reference_table(const std::vector<ReferenceResult>& results) {
  TextTable table;
  table.title = "Closed forms against published figures and a second implementation";
  table.columns = {"case", "kind", "figures", "difference", "result"};
  table.right_aligned = {false, false, true, true, false};
  for (const ReferenceResult& result : results) {
    table.rows.push_back({result.reference->id, std::string(to_string(result.reference->kind)),
                          std::to_string(result.values.size()), worst_difference(result),
                          std::string(to_string(result.verdict))});
  }
  return table;
}

TextTable reference_value_table(const std::vector<ReferenceResult>& results) {
  TextTable table;
  table.columns = {"case",      "kind",      "figure",   "unit",   "source",
                   "tolerance", "reference", "computed", "result", "problem"};
  for (const ReferenceResult& result : results) {
    const std::string id = result.reference->id;
    const std::string kind(to_string(result.reference->kind));
    const std::string verdict(to_string(result.verdict));
    if (result.values.empty()) {
      table.rows.push_back({id, kind, "", "", "", "", "", "", verdict, result.problem});
    }
    for (const ReferenceValue& value : result.values) {
      const ExpectedValue* const expected = value.expected;
      table.rows.push_back({id, kind, value.name, unit_of(value),
                            expected == nullptr ? "" : exact(expected->value),
                            expected == nullptr ? "" : fmt::format("{}", expected->tolerance),
                            value.reference == nullptr ? "" : exact(*value.reference),
                            exact(value.computed), verdict, value.problem});
    }
  }
  return table;
}

TextTable reference_failure_table(const std::vector<ReferenceResult>& results) {
  TextTable table;
  table.title = "Failed";
  table.columns = {"case", "figure", "source", "reference", "computed", "problem"};
  table.right_aligned = {false, false, true, true, true, false};
  for (const ReferenceResult& result : results) {
    if (!result.problem.empty()) {
      table.rows.push_back({result.reference->id, "-", "-", "-", "-", result.problem});
    }
    for (const ReferenceValue& value : result.values) {
      if (!value.problem.empty()) {
        table.rows.push_back({result.reference->id, value.name, shown_expected(value),
                              shown_reference(value), shown(value.computed), value.problem});
      }
    }
  }
  return table;
}

TextTable known_mismatch_table(const std::vector<ReferenceResult>& results) {
  TextTable table;
  table.title = "Known mismatch: the source's figure does not follow from its formulas";
  table.columns = {"case", "figure", "source", "computed", "unit", "note"};
  table.right_aligned = {false, false, true, true, false, false};
  for (const ReferenceResult& result : results) {
    for (const ReferenceValue& value : result.values) {
      if (result.is_known_mismatch() && !value.agrees_with_source) {
        table.rows.push_back({result.reference->id, value.name, shown_expected(value),
                              shown(value.computed), unit_of(value),
                              explanation(*result.reference)});
      }
    }
  }
  return table;
}

TextTable observation_table(const std::vector<ReferenceResult>& results) {
  TextTable table;
  table.title = "Observations, not counted";
  table.columns = {"case", "figure", "source", "unit", "note"};
  table.right_aligned = {false, false, true, false, false};
  for (const ReferenceResult& result : results) {
    for (const ReferenceValue& value : result.values) {
      if (result.verdict == ReferenceVerdict::shown) {
        table.rows.push_back({result.reference->id, value.name, shown_expected(value),
                              unit_of(value), explanation(*result.reference)});
      }
    }
  }
  return table;
}

std::uint64_t count_results(const std::vector<ReferenceResult>& results, ReferenceVerdict verdict) {
  return static_cast<std::uint64_t>(
      std::ranges::count(results, verdict, &ReferenceResult::verdict));
}

std::string reference_summary(const std::vector<ReferenceResult>& results) {
  return fmt::format("{} passed, {} failed", count_results(results, ReferenceVerdict::passed),
                     count_results(results, ReferenceVerdict::failed));
}

json::object reference_json(const std::vector<ReferenceResult>& results) {
  json::object root{{"schema", "highwater.validate/1"}};
  json::array& cases = root["reference_cases"].emplace_array();
  for (const ReferenceResult& result : results) {
    cases.push_back(result_json(result));
  }
  root["summary"] = {{"passed", count_results(results, ReferenceVerdict::passed)},
                     {"failed", count_results(results, ReferenceVerdict::failed)},
                     {"observations", count_results(results, ReferenceVerdict::shown)},
                     {"known_mismatches", count_known_mismatches(results)}};
  return root;
}

}  // namespace highwater
