#include "tools/reports/scaling/fit_report.hpp"

#include <algorithm>
#include <array>
#include <functional>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/scaling/extent.hpp"
#include "tools/files/program_file.hpp"
#include "tools/text/plural.hpp"
#include "tools/text/report.hpp"

namespace highwater {
namespace {

constexpr std::size_t kChangesListed = 20;

std::string point_outcome(const FittedPoint& point) {
  if (point.is_reproduced() && point.has_same_requests()) {
    return "equal";
  }
  std::vector<std::string> parts;
  parts.emplace_back(point.is_reproduced() ? "peaks equal" : "peaks differ");
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count != 0) {
      parts.push_back(fmt::format("{} {}", count, what));
    }
  };
  add(point.other_sizes, "of other size");
  add(point.missing, "missing");
  add(point.additional, "additional");
  add(point.reordered, "freed elsewhere");
  return fmt::format("{}", fmt::join(parts, ", "));
}

auto peak_at(PeakBytes FittedPoint::*member, std::size_t figure) {
  return [member, figure](const FittedPoint& point) { return Cell((point.*member).at(figure)); };
}

Columns<FittedPoint> point_columns(const ScalableProgram& program) {
  using enum Align;
  Columns<FittedPoint> columns{{"file", "recording", left, &FittedPoint::name}};
  for (std::size_t i = 0; i < program.integers.size(); ++i) {
    columns.push_back({"at." + program.integers[i], program.integers[i], right,
                       [i](const FittedPoint& point) { return Cell(point.values[i]); }});
  }
  const Columns<FittedPoint> results{
      {"requests", "requests", right, &FittedPoint::requests},
      {"recorded.allocated_bytes", "peak allocated", right, peak_at(&FittedPoint::recorded, 1)},
      {"predicted.allocated_bytes", "by the program", right, peak_at(&FittedPoint::predicted, 1)},
      {"recorded.reserved_bytes", "peak reserved", right, peak_at(&FittedPoint::recorded, 3)},
      {"predicted.reserved_bytes", "by the program ", right, peak_at(&FittedPoint::predicted, 3)},
      {"other_sizes", "", right, &FittedPoint::other_sizes},
      {"missing", "", right, &FittedPoint::missing},
      {"additional", "", right, &FittedPoint::additional},
      {"reordered", "", right, &FittedPoint::reordered},
      {"held_out", "", left, &FittedPoint::held_out},
      {"reproduced", "", left, &FittedPoint::is_reproduced},
      {"", "requests and peaks", left, point_outcome, "outcome"}};
  columns.insert(columns.end(), results.begin(), results.end());
  return columns;
}

/// Requests by the basis of their formula.
std::array<std::uint64_t, kFormulaBasisCount> count_by_basis(const ScalableProgram& program) {
  std::array<std::uint64_t, kFormulaBasisCount> counts{};
  for (const Event& event : program.requests.events) {
    if (event.kind == EventKind::alloc) {
      ++counts.at(static_cast<std::size_t>(program.formulas[event.value].basis));
    }
  }
  return counts;
}

std::string formula_line(const ScalableProgram& program) {
  const auto [confirmed, determined, estimated] = count_by_basis(program);
  return fmt::format(
      "{} of {} by {}: {} confirmed, {} not confirmed by a further recording, {} estimated",
      plural(confirmed + determined + estimated, "request"),
      values_words(program, program.points[program.base].values),
      plural(program.formulas.size(), "formula"), confirmed, determined, estimated);
}

std::string differing_words(const HeldOutCheck& check) {
  const std::uint64_t differing = check.other_sizes + check.missing + check.additional;
  if (differing == 0) {
    return "";
  }
  return fmt::format("; {} differ", differing) +
         (check.unconfirmed == 0
              ? ""
              : fmt::format(", {} of them where the others leave it open", check.unconfirmed));
}

std::string check_line(const ScalableProgram& program) {
  if (!program.check) {
    return "verified: no; three recordings or more are needed to hold one out";
  }
  const HeldOutCheck& check = *program.check;
  const FittedPoint& point = program.points[check.point];
  return fmt::format(
             "verified: {} from the others: {} of {} requests equal, peak allocated {} ({}), "
             "reserved {} "
             "({})",
             values_words(program, point.values),
             point.requests - std::min(point.requests, check.other_sizes + check.missing),
             point.requests, to_iec(check.predicted[1]),
             check.predicted[1] == point.recorded[1] ? "equal"
                                                     : "recorded " + to_iec(point.recorded[1]),
             to_iec(check.predicted[3]),
             check.predicted[3] == point.recorded[3] ? "equal"
                                                     : "recorded " + to_iec(point.recorded[3])) +
         differing_words(check);
}

std::string range_line(const ScalableProgram& program) {
  std::vector<std::string> ranges;
  for (const UncoveredInteger& range : covered_by(program)) {
    ranges.push_back(range.least == range.most
                         ? fmt::format("{} {}", range.name, range.least)
                         : fmt::format("{} {} to {} in multiples of {}", range.name, range.least,
                                       range.most, range.multiple));
  }
  const bool any = std::ranges::any_of(program.points, &FittedPoint::is_reproduced);
  return any ? fmt::format("verified range: {}", fmt::join(ranges, ", "))
             : "verified range: none; the program gives no recording again in full";
}

std::vector<std::string> change_lines(const ScalableProgram& program) {
  std::vector<std::string> lines;
  for (const StructureChange& change : program.changes) {
    if (lines.size() == kChangesListed) {
      lines.push_back(fmt::format("... {} more", program.changes.size() - lines.size()));
      break;
    }
    lines.push_back(fmt::format("{}, {}: {} requests (in the order above), of up to {}",
                                change.phase, change.site, fmt::join(change.counts, ", "),
                                to_iec(change.largest)));
  }
  return lines;
}

std::string product_words(const ScalableProgram& program, const Exponents& exponents) {
  std::string words;
  for (std::size_t i = 0; i < exponents.size(); ++i) {
    if (exponents[i] != 0) {
      words += fmt::format("{}{}{}", words.empty() ? "" : "*", program.integers[i],
                           exponents[i] == 1 ? "" : fmt::format("^{}", exponents[i]));
    }
  }
  return words;
}

std::string term_words(const ScalableProgram& program, const SizeTerm& term) {
  const std::string product = product_words(program, term.exponents);
  std::string words = fmt::format("{}", term.numerator);
  words += product.empty() ? "" : "*" + product;
  return words + (term.denominator == 1 ? "" : fmt::format("/{}", term.denominator));
}

std::string sum_words(const ScalableProgram& program, const std::vector<SizeTerm>& terms) {
  std::string words;
  for (const SizeTerm& term : terms) {
    words += fmt::format("{}{}", words.empty() ? "" : " + ", term_words(program, term));
  }
  return words;
}

/// "6144*batch*seq", "min(138412032, 8192*batch*seq)"; of a workspace that not every recording has
/// "512 if 1 <= batch*seq/1021, else 0".
std::string formula_words(const ScalableProgram& program, const SizeFormula& formula) {
  std::string words = sum_words(program, formula.terms);
  if (formula.unit != 1 || !formula.factor.empty()) {
    const std::string factor = product_words(program, formula.factor);
    words = fmt::format("{}{}*floor({})", formula.unit, factor.empty() ? "" : "*" + factor, words);
  }
  const std::string unlimited = words;
  if (formula.least) {
    words = fmt::format("max({}, {})", formula.least->count(), words);
  }
  if (formula.most) {
    words = fmt::format("min({}, {})", formula.most->count(), words);
  }
  if (formula.resume != 0) {
    words = fmt::format("max({}, {}/{})", words, unlimited, formula.resume);
  }
  return formula.presence.empty()
             ? words
             : fmt::format("{} if 1 <= {}, else 0", words, sum_words(program, formula.presence));
}

boost::json::array formulas_json(const ScalableProgram& program) {
  std::vector<std::uint64_t> uses(program.formulas.size());
  for (const Event& event : program.requests.events) {
    if (event.kind == EventKind::alloc) {
      ++uses[event.value];
    }
  }
  boost::json::array formulas;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    const SizeFormula& formula = program.formulas[i];
    formulas.push_back({{"bytes", formula_words(program, formula)},
                        {"basis", to_string(formula.basis)},
                        {"requests", uses[i]},
                        {"largest_recorded_bytes", formula.largest_recorded.count()}});
  }
  return formulas;
}

boost::json::array changes_json(const ScalableProgram& program) {
  boost::json::array changes;
  for (const StructureChange& change : program.changes) {
    changes.push_back({{"phase", change.phase},
                       {"site", change.site},
                       {"counts", boost::json::value_from(change.counts)},
                       {"largest_bytes", change.largest.count()}});
  }
  return changes;
}

boost::json::value check_json(const ScalableProgram& program) {
  if (!program.check) {
    return nullptr;
  }
  const HeldOutCheck& check = *program.check;
  return {{"file", program.points[check.point].name},
          {"other_sizes", check.other_sizes},
          {"unconfirmed", check.unconfirmed},
          {"missing", check.missing},
          {"additional", check.additional},
          {"peaks_equal", check.predicted == program.points[check.point].recorded},
          {"predicted",
           {{"requested_bytes", check.predicted[0].count()},
            {"allocated_bytes", check.predicted[1].count()},
            {"active_bytes", check.predicted[2].count()},
            {"reserved_bytes", check.predicted[3].count()}}}};
}

boost::json::object conditions_json(const ScalableProgram& program) {
  boost::json::object conditions;
  for (const FixedCondition& condition : program.conditions) {
    conditions[condition.name] = condition.value;
  }
  return conditions;
}

boost::json::array ranges_json(const ScalableProgram& program) {
  boost::json::array ranges;
  for (const UncoveredInteger& range : covered_by(program)) {
    ranges.push_back({{"name", range.name},
                      {"least", range.least},
                      {"most", range.most},
                      {"multiple", range.multiple}});
  }
  return ranges;
}

}  // namespace

std::string fit_report(const FittedFiles& fitted, const std::string& output, OutputFormat format) {
  const ScalableProgram& program = fitted.program;
  Report report(format, "highwater.fit/1");
  report.value("output", Cell(output));
  report.rows("recordings", tabulate("", point_columns(program), program.points), Gap::after);
  report.line(formula_line(program));
  report.line(check_line(program));
  report.line(range_line(program));
  report.line(conditions_words(program));
  report.items("Requests that not every recording makes", change_lines(program));
  for (const std::string& note : fitted.notes) {
    report.line("note: " + note);
  }
  const auto [confirmed, determined, estimated] = count_by_basis(program);
  report.value("requests.confirmed", Cell(confirmed));
  report.value("requests.determined", Cell(determined));
  report.value("requests.estimated", Cell(estimated));
  report.json("integers", [&] { return ranges_json(program); });
  report.json("holds_for", [&] { return conditions_json(program); });
  report.json("held_out", [&] { return check_json(program); });
  report.json("formulas", [&] { return formulas_json(program); });
  report.json("changes", [&] { return changes_json(program); });
  report.json("notes", [&] { return boost::json::value_from(fitted.notes); });
  return report.str();
}

}  // namespace highwater
