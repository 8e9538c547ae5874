#include "tools/studies/reduction/reduce_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/reduction/property_check.hpp"
#include "tools/studies/explanation/explain_run.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"
#include "traces/overloaded.hpp"

namespace highwater {
namespace {

std::optional<Reduction> reduction_of(const Workload& workload, const ReduceRequest& request) {
  ReductionOptions options;
  options.replay = workload.options;
  options.device = device_knowledge(workload);
  options.wanted = request.wanted;
  options.most_operations = request.most_operations;
  const ProgressLine progress("reducing");
  return reduce(*workload.trace, options);
}

/// The most that the process can reserve, if anything bounds it.
std::optional<Bytes> bound_of(const ReplayOptions& options) {
  const std::optional<Bytes> by_fraction =
      options.fraction && options.capacity
          ? std::optional(Bytes{static_cast<std::uint64_t>(
                *options.fraction * static_cast<double>(options.capacity->count()))})
          : std::nullopt;
  const std::optional<Bytes> limit = options.memory_limit ? options.memory_limit : by_fraction;
  return limit ? limit : options.capacity;
}

/// Whether a limit of the process does what the bound of `options` does.
bool shows_under_limit(const Reduction& reduction, const ReplayOptions& options,
                       const DeviceKnowledge& device, Bytes limit) {
  PropertyCheck::Question question{
      .options = options, .device = device, .property = reduction.property};
  question.options.capacity.reset();
  question.options.fraction.reset();
  question.options.memory_limit = limit;
  question.device.is_fraction = false;
  if (auto* const failure = std::get_if<KeptFailure>(&question.property)) {
    failure->cause = failure->cause == OomCause::memory_limit ? OomCause::capacity : failure->cause;
  }
  return shows_property(reduction.trace, question);
}

void add_bound(ReducedRun& run) {
  const ReplayOptions& options = run.workload.options;
  const std::optional<Bytes> most = bound_of(options);
  if (!most) {
    return;
  }
  run.most_memory = *most;
  run.bound =
      shows_under_limit(run.reduction, options, device_knowledge(run.workload), run.most_memory)
          ? ScriptBound::fraction
          : ScriptBound::device;
}

/// What the workload that comes nearest has instead.
std::string shortfall(const std::vector<Workload>& workloads, const WantedProperty& wanted) {
  Bytes reserved;
  double fragmentation = 0;
  for (const Workload& workload : workloads) {
    const ReplayResult& result = workload.replay.result;
    reserved = std::max(reserved, result.peak.reserved);
    fragmentation = std::max(fragmentation, result.fragmentation.peak);
  }
  return std::visit(
      Overloaded{
          [](WantedFailure /*failure*/) -> std::string {
            return "--keep oom: no request fails; bound the memory with --capacity, or keep "
                   "'peak>=SIZE'";
          },
          [&](const KeptPeak& kept) {
            return fmt::format(
                "--keep peak>={}: the peak of reserved memory is {}; ask for "
                "that or less",
                to_iec(kept.least), to_iec(reserved));
          },
          [&](const KeptFragmentation& kept) {
            return fmt::format(
                "--keep fragmentation>={:.4g}: before the first failure it is less, and {:.4f} "
                "at the end of the run; ask for less",
                kept.least, fragmentation);
          }},
      wanted);
}

}  // namespace

ReducedRun reduce_run(const ReduceRequest& request) {
  std::vector<Workload> workloads = read_workloads(request.workload);
  for (Workload& workload : workloads) {
    if (std::optional<Reduction> reduction = reduction_of(workload, request)) {
      ReducedRun run{.workload = std::move(workload), .reduction = std::move(*reduction)};
      add_bound(run);
      return run;
    }
  }
  throw UsageError(shortfall(workloads, request.wanted));
}

}  // namespace highwater
