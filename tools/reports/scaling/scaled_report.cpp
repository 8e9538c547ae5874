#include "tools/reports/scaling/scaled_report.hpp"

#include <algorithm>
#include <functional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/replay_members.hpp"
#include "tools/reports/replay_report.hpp"
#include "tools/reports/search_members.hpp"
#include "tools/studies/runs/trust_line.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/plural.hpp"
#include "tools/text/report.hpp"

namespace highwater {
namespace {

std::string scaled_place_words(const PeakPlace& place) {
  return place.step ? fmt::format("step {}, {}", *place.step, place.phase) : place.phase;
}

std::string extent_words(const ScaledRun& run) {
  switch (run.extent.kind) {
    case ExtentKind::recorded:
      return "one of the recordings, which the program gives again";
    case ExtentKind::between:
      return "between recordings that the program gives again";
    case ExtentKind::beyond:
      break;
  }
  return "outside what was verified";
}

MetricList scaled_metrics(const ScaledRun& run) {
  MetricList list;
  list.title = fmt::format("{}, {}", run.file, values_words(*run.program, run.values));
  const Usage& peak = run.replay.result.peak;
  list.add("peak.requested_bytes", "peak requested", peak.requested);
  list.add("peak.allocated_bytes", "peak allocated", peak.allocated);
  list.add("peak.active_bytes", "peak active", peak.active);
  list.add("peak.reserved_bytes", "peak reserved", peak.reserved);
  list.add("peak_allocated_in", "highest allocated in",
           run.place ? scaled_place_words(*run.place) : "");
  list.add("steps_simulated", "steps", run.steps);
  list.add("counts.allocs", "allocations", run.replay.result.counts.allocs);
  list.add("counts.device_alloc", "device allocations", run.replay.result.counts.device_alloc);
  list.add("counts.alloc_retries", "retries after releasing the cache",
           run.replay.result.counts.alloc_retries);
  list.add("counts.ooms", "out of memory", run.replay.result.counts.ooms);
  if (run.replay.capacity) {
    list.add("capacity_bytes", "memory for the allocator", *run.replay.capacity);
  }
  list.add("verified", "verified", run.extent.kind != ExtentKind::beyond);
  return list;
}

std::string fits_line(const ScaledRun& run) {
  if (!run.fits()) {
    return "out of memory";
  }
  return run.replay.capacity || run.replay.memory_limit ? "fits" : "";
}

std::string range_words(const PeakRange& range) {
  if (range.smallest.reserved == range.largest.reserved &&
      range.smallest.allocated == range.largest.allocated) {
    return "the peaks are the same with estimated sizes and scratch held at those recorded, and "
           "with "
           "estimated sizes doubled";
  }
  return fmt::format(
      "with estimated sizes and scratch held at those recorded, and with estimated sizes doubled: "
      "peak allocated {} to {}, reserved {} to {}",
      to_iec(range.smallest.allocated), to_iec(range.largest.allocated),
      to_iec(range.smallest.reserved), to_iec(range.largest.reserved));
}

boost::json::object values_json(const ScaledRun& run) {
  boost::json::object values;
  for (std::size_t i = 0; i < run.values.size(); ++i) {
    values[run.program->integers[i]] = run.values[i];
  }
  return values;
}

boost::json::object conditions_json(const ScaledRun& run) {
  boost::json::object conditions;
  for (const FixedCondition& condition : run.program->conditions) {
    conditions[condition.name] = condition.value;
  }
  return conditions;
}

boost::json::array warnings_json(const ScaledRun& run) {
  boost::json::array warnings;
  for (const ProgramWarning& warning : run.warnings) {
    warnings.push_back({{"kind", to_string(warning.kind)}, {"text", warning.text}});
  }
  return warnings;
}

boost::json::array steps_json(const ScaledRun& run) {
  boost::json::array steps;
  for (const StepPeak& step : run.peaks.steps) {
    steps.push_back({{"step", step.step}, {"peak", object_json(step.peak)}});
  }
  return steps;
}

boost::json::array phases_json(const ScaledRun& run) {
  boost::json::array phases;
  for (const PhasePeak& phase : run.peaks.phases) {
    phases.push_back({{"step", phase.step ? boost::json::value(*phase.step) : nullptr},
                      {"phase", phase.phase},
                      {"peak", object_json(phase.peak)}});
  }
  return phases;
}

boost::json::value range_json(const ScaledRun& run) {
  if (!run.range) {
    return nullptr;
  }
  return {{"smallest", object_json(run.range->smallest)},
          {"largest", object_json(run.range->largest)}};
}

void add_search(const ScaledRun& run, Report& report) {
  if (run.search) {
    report.line(fmt::format("largest {} that fits: {}", *run.searched, describe(*run.search)));
    report.json("search", [&] {
      boost::json::object search = object_json(*run.search);
      search["integer"] = *run.searched;
      return search;
    });
  }
}

void add_for_people(const ScaledRun& run, Report& report) {
  report.table(to_table(scaled_metrics(run)));
  report.text(describe_ooms(run.replay));
  if (const std::string line = fits_line(run); !line.empty()) {
    report.line(line);
  }
  report.line(extent_words(run));
  report.line(conditions_words(*run.program));
  for (const ProgramWarning& warning : run.warnings) {
    report.line("warning: " + warning.text);
  }
  if (run.range) {
    report.line(range_words(*run.range));
  }
}

}  // namespace

std::string scaled_report(const ScaledRun& run, const std::optional<BudgetVerdict>& budget,
                          OutputFormat format) {
  Report report(format, "highwater.scaled/1");
  report.json("at", [&] { return values_json(run); });
  for (auto& [key, value] : to_json(scaled_metrics(run))) {
    report.json(key, [&, kept = value] { return kept; });
  }
  report.value("fits", Cell(run.fits()));
  report.value("extent", Cell(std::string(to_string(run.extent.kind))));
  report.json("holds_for", [&] { return conditions_json(run); });
  report.json("warnings", [&] { return warnings_json(run); });
  report.json("estimated_range", [&] { return range_json(run); });
  report.json("steps", [&] { return steps_json(run); });
  report.json("phases", [&] { return phases_json(run); });
  report.json("ooms", [&] { return value_json(oom_lines(run.replay)); });
  report.csv([&] { return line_table(scaled_metrics(run)); });
  add_for_people(run, report);
  add_search(run, report);
  for (const std::string& note : run.replay.notes) {
    report.line("note: " + note);
  }
  report.value("trust", Cell(trust_line(run.replay)));
  report.line(trust_line(run.replay));
  if (budget) {
    report.json("budget", [&] { return object_json(*budget); });
  }
  return report.str();
}

}  // namespace highwater
