#include "tools/studies/explanation/peak_diff_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tools/studies/runs/workload_request.hpp"
#include "tools/text/progress_line.hpp"
#include "tools/text/site_label.hpp"

namespace highwater {
namespace {

Bytes peak_reserved(const Workload& workload) {
  return workload.replay.result.peak.reserved;
}

Workload heaviest(std::vector<Workload> workloads, const std::string& path,
                  std::vector<std::string>& notes) {
  require_workloads(workloads, path);
  const auto found = std::ranges::max_element(workloads, {}, peak_reserved);
  if (workloads.size() > 1) {
    notes.push_back(
        fmt::format("{}: device {}, which reserves the most of {} "
                    "(choose with --device)",
                    path, found->replay.device, workloads.size()));
  }
  return std::move(*found);
}

/// A replay that follows a recording finds older blocks in place; a free one allocates them.
bool allocates_older_blocks(const Workload& workload) {
  return !workload.replay.fidelity && workload.replay.derivation &&
         workload.replay.derivation->initial_blocks > 0;
}

}  // namespace

PeakBreakdown peak_breakdown(const Workload& workload) {
  return break_down_peak(*workload.trace, workload.watch, peak_reserved(workload));
}

WorkloadPeak peak_of(Workload workload) {
  WorkloadPeak result;
  result.workload = std::move(workload);
  result.peak = peak_breakdown(result.workload);
  return result;
}

NamedPeak named_peak(const WorkloadPeak& workload) {
  return named_peak(peak_side(workload.workload, workload.peak));
}

WorkloadPeak workload_peak(const PeakRequest& request, std::vector<std::string>& notes) {
  WorkloadRequest workload;
  workload.file = request.path;
  workload.memory = request.memory;
  workload.served_by = request.torch;
  workload.device = request.device;
  workload.reading = request.reading;
  workload.watchable = true;
  Workload found = heaviest(read_workloads(workload), request.path, notes);
  return with_progress("looking at the peak", [&] { return peak_of(std::move(found)); });
}

PeakSide peak_side(const Workload& workload, const PeakBreakdown& peak) {
  PeakSide side;
  side.peak = &peak;
  side.trace = workload.trace.get();
  side.site = [tables = &workload.trace->tables](StackId stack) {
    SiteName name{site_label(*tables, stack), ""};
    name.without_line = without_line(name.name);
    return name;
  };
  return side;
}

PeakChange change_between(const WorkloadPeak& first, const WorkloadPeak& second) {
  return change_of_peak(peak_side(first.workload, first.peak),
                        peak_side(second.workload, second.peak));
}

void note_older_blocks(PeakDiff& diff) {
  const bool first = allocates_older_blocks(diff.first.workload);
  if (first != allocates_older_blocks(diff.second.workload)) {
    diff.notes.push_back(fmt::format(
        "device allocations of {} include those for blocks older than its recording, which a "
        "replay under other settings allocates first",
        first ? '-' : '+'));
  }
}

}  // namespace highwater
