#include "tools/files/program_warnings.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/files/program_file.hpp"
#include "tools/text/plural.hpp"
#include "tools/text/site_label.hpp"

namespace highwater {
namespace {

std::string uncovered_words(const UncoveredInteger& each) {
  if (each.is_outside()) {
    return fmt::format("{} {} is outside the recordings ({})", each.name, each.value,
                       each.least == each.most ? fmt::format("{}", each.least)
                                               : fmt::format("{} to {}", each.least, each.most));
  }
  return fmt::format("{} {} is no multiple of {}, as all in the recordings are", each.name,
                     each.value, each.multiple);
}

void warn_of_extent(const Extent& extent, std::vector<ProgramWarning>& warnings) {
  constexpr std::string_view kHolds =
      "; exact as long as PyTorch and the script choose the same kernels and paths there";
  for (const UncoveredInteger& each : extent.uncovered) {
    warnings.push_back({ProgramDoubt::beyond, fmt::format("{}{}", uncovered_words(each), kHolds)});
  }
}

void warn_of_points(const ScalableProgram& program, std::vector<ProgramWarning>& warnings) {
  const auto count =
      static_cast<std::size_t>(std::ranges::count_if(program.points, &FittedPoint::is_reproduced));
  if (count != program.points.size()) {
    warnings.push_back(
        {ProgramDoubt::unverified,
         fmt::format("the program gives {} of its {} recordings again, peaks and requests", count,
                     program.points.size())});
  }
}

void warn_of_check(const ScalableProgram& program, std::vector<ProgramWarning>& warnings) {
  if (!program.check) {
    warnings.push_back({ProgramDoubt::unverified,
                        "no recording was held out to verify the sizes; fit three or more"});
    return;
  }
  const FittedPoint& point = program.points[program.check->point];
  if (const std::uint64_t wrong = program.check->wrong(); wrong != 0) {
    warnings.push_back(
        {ProgramDoubt::unverified,
         fmt::format("the recording that was held out, {}, has {} that the others do not foretell",
                     values_words(program, point.values), plural(wrong, "request"))});
  }
}

/// Whether the number of requests is the same wherever the integer is, and else grows with it.
bool follows(const ScalableProgram& program, const StructureChange& change, std::size_t integer) {
  const auto value = [&](std::size_t point) { return program.points[point].values[integer]; };
  for (std::size_t i = 0; i < change.counts.size(); ++i) {
    for (std::size_t j = 0; j < change.counts.size(); ++j) {
      const bool is_out_of_order =
          value(i) < value(j) ? change.counts[i] > change.counts[j]
                              : value(i) == value(j) && change.counts[i] != change.counts[j];
      if (is_out_of_order) {
        return false;
      }
    }
  }
  return true;
}

/// "; their number grows with seq (0, 0, 96, 192), and seq 192 is beyond all of them", where it is.
std::string growth_words(const ScalableProgram& program, const Values& values) {
  const StructureChange& first = program.changes.front();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_beyond = std::ranges::all_of(
        program.points, [&](const FittedPoint& point) { return point.values[i] < values[i]; });
    if (is_beyond && follows(program, first, i)) {
      return fmt::format("; their number grows with {0} ({1}), and {0} {2} is beyond all of them",
                         program.integers[i], fmt::join(first.counts, ", "), values[i]);
    }
  }
  return "";
}

void warn_of_structure(const ScalableProgram& program, const Values& values,
                       std::vector<ProgramWarning>& warnings) {
  if (program.changes.empty()) {
    return;
  }
  const StructureChange& first = program.changes.front();
  warnings.push_back(
      {ProgramDoubt::structure,
       fmt::format("the recordings make different requests in {}, the largest of {} in {} at {}; "
                   "the requests are those of {}{}",
                   plural(program.changes.size(), "place"), to_iec(first.largest), first.phase,
                   first.site, values_words(program, program.points[program.base].values),
                   growth_words(program, values))});
}

void warn_of_sizes(const ScaledRequests& requests, std::vector<ProgramWarning>& warnings) {
  if (requests.estimated != 0) {
    warnings.push_back(
        {ProgramDoubt::estimated,
         fmt::format("{} of up to {} follow no formula; their sizes are estimated",
                     plural(requests.estimated, "request"), to_iec(requests.largest_estimated))});
  }
  if (requests.determined != 0) {
    warnings.push_back(
        {ProgramDoubt::unchecked,
         fmt::format("the formulas of {} of up to {} are not confirmed; add a recording",
                     plural(requests.determined, "request"), to_iec(requests.largest_determined))});
  }
  if (requests.rounded != 0) {
    warnings.push_back(
        {ProgramDoubt::rounded,
         fmt::format("the formulas of {} give no whole number of bytes here; they are rounded down",
                     plural(requests.rounded, "request"))});
  }
}

void warn_of_scratch(const ScaledRequests& requests, std::vector<ProgramWarning>& warnings) {
  const ScratchAtPeak& scratch = requests.scratch;
  if (scratch.requests == 0) {
    return;
  }
  warnings.push_back(
      {ProgramDoubt::scratch,
       fmt::format("{} of the highest point are scratch of a size that no lasting block has, the "
                   "largest of {} at {}, of which the recordings show at most {}; code that works "
                   "in pieces stops to grow, so add a recording that makes it larger",
                   to_iec(scratch.total), to_iec(scratch.largest),
                   site_label(requests.trace.tables, scratch.stack),
                   to_iec(scratch.largest_recorded))});
}

}  // namespace

std::string_view to_string(ProgramDoubt doubt) {
  switch (doubt) {
    case ProgramDoubt::beyond:
      return "beyond";
    case ProgramDoubt::structure:
      return "structure";
    case ProgramDoubt::unverified:
      return "unverified";
    case ProgramDoubt::estimated:
      return "estimated";
    case ProgramDoubt::unchecked:
      return "unchecked";
    case ProgramDoubt::rounded:
      return "rounded";
    case ProgramDoubt::scratch:
      break;
  }
  return "scratch";
}

std::vector<ProgramWarning> program_warnings(const ScalableProgram& program, const Values& values,
                                             const ScaledRequests& requests) {
  std::vector<ProgramWarning> warnings;
  const Extent extent = extent_of(program, values);
  if (extent.kind == ExtentKind::recorded) {
    return warnings;
  }
  warn_of_extent(extent, warnings);
  warn_of_points(program, warnings);
  warn_of_check(program, warnings);
  warn_of_structure(program, values, warnings);
  warn_of_sizes(requests, warnings);
  warn_of_scratch(requests, warnings);
  return warnings;
}

}  // namespace highwater
