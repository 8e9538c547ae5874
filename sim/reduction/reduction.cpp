#include "sim/reduction/reduction.hpp"

#include <utility>

#include "sim/reduction/first_moment.hpp"
#include "sim/reduction/program.hpp"
#include "sim/reduction/property_check.hpp"
#include "sim/reduction/shorter_program.hpp"
#include "traces/overloaded.hpp"

namespace highwater {
namespace {

/// A trace cut where it shows what is wanted.
struct Beginning {
  Program program;
  KeptProperty property;
};

ReplayOptions plain(ReplayOptions options) {
  options.observer = nullptr;
  options.listener = nullptr;
  options.decisions = DecisionDetail::none;
  options.after_oom = AfterOom::stop;
  return options;
}

std::optional<Beginning> failing_beginning(const RequestTrace& trace,
                                           const ReductionOptions& options) {
  const auto events = events_until_failure(trace, options.replay);
  if (!events) {
    return std::nullopt;
  }
  Program program = program_of(trace, *events);
  TraceShell shell(trace);
  const auto cause =
      cause_of_first_failure(shell.around(program), plain(options.replay), options.device);
  return cause ? std::optional(Beginning{std::move(program), KeptFailure{*cause}}) : std::nullopt;
}

std::optional<Beginning> peaking_beginning(const RequestTrace& trace,
                                           const ReductionOptions& options,
                                           const KeptProperty& property) {
  const auto events = events_until_shown(trace, options.replay, property);
  return events ? std::optional(Beginning{program_of(trace, *events), property}) : std::nullopt;
}

std::optional<Beginning> beginning_of(const RequestTrace& trace, const ReductionOptions& options) {
  return std::visit(
      Overloaded{[&](WantedFailure /*first*/) { return failing_beginning(trace, options); },
                 [&](const auto& kept) { return peaking_beginning(trace, options, kept); }},
      options.wanted);
}

ProgramSize size_of(const Program& program) {
  ProgramSize size{.operations = program.size()};
  for (const Event& event : program) {
    if (event.kind == EventKind::alloc) {
      ++size.allocations;
      size.requested += event.bytes();
    }
  }
  return size;
}

/// One round of all passes.
Program reduced_once(Program program, PropertyCheck& check, const ReductionOptions& options) {
  using Pass = Program (*)(const Program&, PropertyCheck&);
  for (const Pass pass : {without_needless_allocations, without_needless_operations,
                          without_needless_places, with_simpler_sizes}) {
    program = pass(program, check);
    options.progress(program.size());
  }
  return program;
}

/// Until a round changes nothing.
Program reduced(Program program, PropertyCheck& check, const ReductionOptions& options) {
  while (true) {
    Program next = reduced_once(program, check, options);
    const bool is_same = next == program;
    program = std::move(next);
    if (is_same || check.is_exhausted()) {
      return program;
    }
  }
}

/// The requests of `program` with the names and call stacks of `trace`.
RequestTrace trace_of(const RequestTrace& trace, const Program& program) {
  RequestTrace result;
  result.header = trace.header;
  result.stream_handles = trace.stream_handles;
  result.pools = trace.pools;
  result.tables = trace.tables;
  result.allocation_count = allocation_count(program);
  for (const Event& event : program) {
    result.events.push_back(event);
  }
  return result;
}

}  // namespace

std::optional<Reduction> reduce(const RequestTrace& trace, const ReductionOptions& options) {
  const std::optional<Beginning> beginning = beginning_of(trace, options);
  if (!beginning) {
    return std::nullopt;
  }
  PropertyCheck check(trace, {.options = plain(options.replay),
                              .device = options.device,
                              .property = beginning->property,
                              .most_operations = options.most_operations});
  const Program program = reduced(beginning->program, check, options);
  Reduction reduction;
  reduction.trace = trace_of(trace, program);
  reduction.property = beginning->property;
  reduction.before = size_of(beginning->program);
  reduction.after = size_of(program);
  reduction.result = replay(reduction.trace, plain(options.replay));
  reduction.programs_tried = check.programs();
  reduction.operations_tried = check.operations();
  reduction.is_minimal = !check.is_exhausted();
  return reduction;
}

}  // namespace highwater
