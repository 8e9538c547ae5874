// The keys of closed forms: what they say, and how they compare with the simulation.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "tools/json/members.hpp"
#include "tools/studies/estimates/compared_estimates.hpp"
#include "workloads/estimates/evaluate.hpp"

namespace highwater {

/// A term of a form, in whole bytes.
struct TermLine {
  std::string name;
  std::string equation;
  std::int64_t bytes = 0;
  std::vector<std::string_view> covers;
};

/// They add up to the rounded total.
std::vector<TermLine> term_lines(const FormulaOutcome& outcome);

template <>
struct Members<TermLine> {
  static constexpr auto kRows = std::to_array({
      member<&TermLine::name>("name", "as the source calls it"),
      member<&TermLine::equation>("equation", "in the source's symbols"),
      member<&TermLine::bytes>("bytes", "rounded so that the terms add up to the total"),
      member<&TermLine::covers>("covers", "the parts of a process's memory that it stands for"),
  });
};

template <>
struct Members<FormulaVariant> {
  static constexpr auto kRows = std::to_array({
      member<&FormulaVariant::label>("options", "what is set"),
      member<[](const FormulaVariant& of) { return std::llround(of.gpu_bytes); }>("gpu_bytes",
                                                                                  "per GPU"),
      member<[](const FormulaVariant& of) { return std::llround(of.host_bytes); }>("host_bytes",
                                                                                   "per node"),
      member<[](const FormulaVariant& of) { return std::llround(of.pinned_bytes); }>(
          "pinned_bytes", "of the host's, pinned"),
  });
};

/// A form that applies.
template <>
struct Members<FormulaOutcome> {
  static constexpr auto kRows = std::to_array({
      member<[](const FormulaOutcome& of) { return of.formula->name; }>("name",
                                                                        "as on the command line"),
      member<[](const FormulaOutcome& of) { return of.formula->title; }>("title", "in words"),
      member<[](const FormulaOutcome& of) { return to_string(of.formula->scope); }>(
          "about", "which memory it speaks of"),
      member<[](const FormulaOutcome& of) { return std::llround(of.estimate.bytes()); }>(
          "bytes", "the estimate, per GPU"),
      member<[](const FormulaOutcome& of) { return of.formula->equation; }>(
          "equation", "in the source's symbols"),
      member<[](const FormulaOutcome& of) { return of.formula->source; }>("source",
                                                                          "where it is published"),
      member<[](const FormulaOutcome& of) { return of.formula->assumptions; }>(
          "assumptions", "what it takes for granted"),
      member<[](const FormulaOutcome& of) { return of.formula->known_errors; }>(
          "known_errors", "where the source itself is wrong"),
      member<&FormulaOutcome::broken>("broken_assumptions", "those that the plan breaks"),
      member<term_lines>("terms", "what it is the sum of"),
      member<&FormulaOutcome::variants>("variants", "the same form with other options"),
  });
};

/// A form that does not apply.
struct Refusal {
  std::string_view name;
  std::string reason;
};

std::vector<Refusal> refusals_of(const std::vector<FormulaOutcome>& outcomes);

template <>
struct Members<Refusal> {
  static constexpr auto kRows = std::to_array({
      member<&Refusal::name>("name", "as on the command line"),
      member<&Refusal::reason>("reason", "why it does not apply"),
  });
};

template <>
struct Members<Holder<std::string>> {
  static constexpr auto kRows = std::to_array({
      member<&Holder<std::string>::origin>("what", "the tensors"),
      member<&Holder<std::string>::held>("bytes", "live at the peak"),
      member<&Holder<std::string>::blocks>("blocks", "how many there are"),
  });
};

/// The largest holders of a line, a few of them.
std::vector<Holder<std::string>> largest_of(const ReconciliationLine& line);

template <>
struct Members<ReconciliationLine> {
  static constexpr auto kRows = std::to_array({
      member<&ReconciliationLine::name>("name", "the parts of memory"),
      member<&ReconciliationLine::terms>("terms", "of the form; empty: it omits them"),
      member<&ReconciliationLine::estimated>("estimated_bytes", "by the form"),
      member<&ReconciliationLine::simulated>("simulated_bytes", "by the simulation"),
      member<&ReconciliationLine::difference>("to_add_bytes", "what the form lacks"),
      member<largest_of>("largest", "the simulation's largest holders"),
  });
};

template <>
struct Members<Reconciliation> {
  static constexpr auto kRows = std::to_array({
      member<&Reconciliation::estimated>("estimated_bytes", "by the form"),
      member<&Reconciliation::simulated>("simulated_bytes", "the whole process, simulated"),
      member<&Reconciliation::difference>("to_add_bytes", "the sum of what the lines add"),
      member<&Reconciliation::lines>("lines", "part by part"),
  });
};

template <>
struct Members<ComparedEstimate> {
  static constexpr auto kRows = std::to_array({
      members_of<&ComparedEstimate::outcome>(),
      member<[](const ComparedEstimate& of) {
        return simulated_peak_name(of.outcome.formula->scope);
      }>("compared_with", "the simulated figure that users compare it with"),
      member<&ComparedEstimate::peak>("simulated_peak_bytes", "that figure"),
      member<[](const ComparedEstimate& of) {
        return std::llround(of.bytes()) - static_cast<std::int64_t>(of.peak.count());
      }>("difference_bytes", "estimate - simulated"),
      member<&ComparedEstimate::error>("error_vs_simulated",
                                       "estimate / simulated - 1; null: nothing was allocated"),
      member<&ComparedEstimate::covered>(
          "covered_bytes", "the most that the simulation had of what the terms stand for"),
      member<&ComparedEstimate::error_of_covered>(
          "error_vs_covered", "estimate / covered - 1; null: the simulation has nothing of it"),
      member<&ComparedEstimate::reconciliation>(
          "bridge", "from the estimate to the simulated process, part by part"),
  });
};

}  // namespace highwater
