#include "tools/reports/reduction/reduce_report.hpp"

#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "sim/reduction/program.hpp"
#include "tools/reports/replay_members.hpp"
#include "tools/reports/replay_report.hpp"
#include "tools/text/plural.hpp"
#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/overloaded.hpp"

namespace highwater {
namespace {

std::string property_words(const ReducedRun& run) {
  const ReplayResult& result = run.reduction.result;
  return std::visit(Overloaded{[&](const KeptFailure& failure) {
                                 return fmt::format("out of memory, {}", to_string(failure.cause));
                               },
                               [&](const KeptPeak& kept) {
                                 return fmt::format("peak reserved {}, at least {}",
                                                    to_iec(result.peak.reserved),
                                                    to_iec(kept.least));
                               },
                               [&](const KeptFragmentation& kept) {
                                 return fmt::format("fragmentation {:.4f}, at least {}",
                                                    result.fragmentation.peak, kept.least);
                               }},
                    run.reduction.property);
}

std::string_view property_name(const KeptProperty& property) {
  return std::visit(Overloaded{[](const KeptFailure& /*kept*/) { return "oom"; },
                               [](const KeptPeak& /*kept*/) { return "peak"; },
                               [](const KeptFragmentation& /*kept*/) { return "fragmentation"; }},
                    property);
}

std::string size_words(const ProgramSize& size) {
  return fmt::format("{} ({} that ask for {})", plural(size.operations, "operation"),
                     plural(size.allocations, "allocation"), to_iec(size.requested));
}

/// The requests at one end of the reduction.
struct SizeRow {
  std::string_view when;
  const ProgramSize* size = nullptr;
};

Columns<SizeRow> size_columns() {
  using enum Align;
  return {
      {"when", "program", left, [](const SizeRow& row) { return std::string(row.when); }},
      {"operations", "operations", right, [](const SizeRow& row) { return row.size->operations; }},
      {"allocations", "allocations", right,
       [](const SizeRow& row) { return row.size->allocations; }},
      {"requested_bytes", "requested", right,
       [](const SizeRow& row) { return row.size->requested; }, "requested_bytes"}};
}

Table size_table(const Reduction& reduction) {
  const std::array<SizeRow, 2> rows{
      {{"up to where it shows", &reduction.before}, {"what is left", &reduction.after}}};
  return tabulate("", size_columns(), rows);
}

boost::json::value cause_json(const KeptProperty& property) {
  const auto* const failure = std::get_if<KeptFailure>(&property);
  return failure == nullptr ? boost::json::value(nullptr)
                            : boost::json::value(to_string(failure->cause));
}

boost::json::value path_json(const std::string& path) {
  return path.empty() ? boost::json::value(nullptr) : boost::json::value(valid_utf8(path));
}

std::string search_words(const Reduction& reduction) {
  const std::string tried =
      fmt::format("{} tried, {} operations replayed", plural(reduction.programs_tried, "program"),
                  reduction.operations_tried);
  return reduction.is_minimal
             ? "no operation can be left out alone; " + tried
             : "the search ended early, allow it more with --max-operations; " + tried;
}

/// The bound as `record` takes it.
std::string bound_words(const ReducedRun& run) {
  return run.bound == ScriptBound::none ? ""
                                        : fmt::format(" --capacity {}", run.most_memory.count());
}

}  // namespace

std::string run_sentence(const ReducedRun& run) {
  return fmt::format("{}, after {}", property_words(run), size_words(run.reduction.after));
}

std::string record_line(const ReducedRun& run, const std::string& script) {
  return fmt::format(
      "highwater record{}{} -- python3 {}", bound_words(run),
      has_event(run.reduction.trace, EventKind::record_stream) ? " --event-lag 1000000" : "",
      script);
}

std::string reduce_report(const ReducedRun& run, const ReducedFiles& files, OutputFormat format) {
  const Reduction& reduction = run.reduction;
  Report report(format, "highwater.reduce/1");
  report.line(fmt::format("{}, device {}", run.workload.name, run.workload.replay.device));
  report.line(run_sentence(run));
  report.rows("programs", size_table(reduction), Gap::none);
  report.line(search_words(reduction));
  if (!files.trace.empty()) {
    report.line(
        fmt::format("{}: the requests; highwater replay, explain and sweep take it", files.trace));
  }
  if (!files.script.empty()) {
    report.line(fmt::format("{}: the same in PyTorch; without a GPU: {}", files.script,
                            record_line(run, files.script)));
  }
  add_notes(run.workload.replay, report);
  report.line(run.workload.trust());
  report.value("subject", valid_utf8(run.workload.name));
  report.json("device", [&] { return run.workload.replay.device; });
  report.value("keep", std::string(property_name(reduction.property)));
  report.json("cause", [&] { return cause_json(reduction.property); });
  report.json("peak", [&] { return object_json(reduction.result.peak); });
  report.json("fragmentation", [&] { return reduction.result.fragmentation.peak; });
  report.json("is_minimal", [&] { return reduction.is_minimal; });
  report.json("programs_tried", [&] { return reduction.programs_tried; });
  report.json("operations_tried", [&] { return reduction.operations_tried; });
  report.json("output", [&] { return path_json(files.trace); });
  report.json("script", [&] { return path_json(files.script); });
  report.json("trust", [&] { return boost::json::value(valid_utf8(run.workload.trust())); });
  return report.str();
}

}  // namespace highwater
