#include "tools/reports/replay_output.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/edit_report.hpp"
#include "tools/reports/replay_report.hpp"
#include "tools/studies/trust_line.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/report.hpp"

namespace highwater {
namespace {

boost::json::array replays_json(const std::vector<DeviceReplay>& replays, bool with_timeline) {
  boost::json::array devices;
  for (const DeviceReplay& replay : replays) {
    boost::json::object device = replay_json(replay);
    if (replay.edited) {
      device["edited"] = edits_json(*replay.edited);
    }
    if (with_timeline) {
      device["timeline"] = timeline_json(replay.result.timeline);
    }
    devices.push_back(std::move(device));
  }
  return devices;
}

Table replay_lines(const std::vector<DeviceReplay>& replays) {
  std::vector<MetricLine> lines;
  for (const DeviceReplay& replay : replays) {
    const std::vector<std::string> device{std::to_string(replay.device)};
    add_lines(device, replay_metrics(replay), lines);
    lines.push_back({device, "trust", trust_line(replay)});
  }
  return line_table({"device"}, lines);
}

void add_replay(const DeviceReplay& replay, Report& report) {
  report.text(decision_lines(replay));
  MetricList metrics = replay_metrics(replay);
  metrics.title = fmt::format("Device {}", replay.device);
  report.table(to_table(metrics), Gap::after_markdown);
  report.text(describe_ooms(replay));
  if (replay.fidelity && replay.fidelity->first_divergence) {
    const Divergence& first = *replay.fidelity->first_divergence;
    report.line(fmt::format("first divergence: device_traces[{}][{}]: {}", replay.device,
                            first.entry, first.description));
  }
  for (const std::string& note : replay_notes(replay)) {
    report.line("note: " + note);
  }
  report.line(trust_line(replay));
}

}  // namespace

std::string replay_output(const std::vector<DeviceReplay>& replays, OutputFormat format,
                          bool with_timeline, const std::optional<BudgetVerdict>& budget) {
  Report report(format, "highwater.replay/1");
  if (replays.empty()) {
    report.line("The file holds no device with memory or events.");
  }
  for (const DeviceReplay& replay : replays) {
    add_replay(replay, report);
  }
  report.csv([&] { return replay_lines(replays); });
  report.json("devices", [&] { return replays_json(replays, with_timeline); });
  if (budget) {
    report.json("budget", [&] { return budget_json(*budget); });
  }
  return report.str();
}

}  // namespace highwater
