#include "tools/reports/replay_output.hpp"

#include <ostream>

#include <boost/json.hpp>

#include "tools/reports/replay_report.hpp"
#include "tools/studies/trust_line.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

void write_json(const std::vector<DeviceReplay>& replays, bool with_timeline, std::ostream& out) {
  boost::json::object root;
  root["schema"] = "highwater.replay/1";
  boost::json::array& devices = root["devices"].emplace_array();
  for (const DeviceReplay& replay : replays) {
    boost::json::object device = replay_json(replay);
    if (with_timeline) {
      device["timeline"] = timeline_json(replay.result.timeline);
    }
    devices.push_back(std::move(device));
  }
  out << root << "\n";
}

void write_csv(const std::vector<DeviceReplay>& replays, std::ostream& out) {
  TextTable table;
  table.columns = {"device", "metric", "value"};
  for (const DeviceReplay& replay : replays) {
    for (const Metric& metric : replay_metrics(replay).metrics) {
      table.rows.push_back(
          {std::to_string(replay.device), metric.key, to_exact_text(metric.value)});
    }
    table.rows.push_back({std::to_string(replay.device), "trust", trust_line(replay)});
  }
  out << format_csv(table);
}

void write_for_people(const DeviceReplay& replay, OutputFormat format, std::ostream& out) {
  out << decision_lines(replay);
  TextTable table = to_table(replay_metrics(replay));
  table.title = "Device " + std::to_string(replay.device);
  out << (format == OutputFormat::markdown ? format_markdown(table) : format_aligned(table));
  const std::string separator = format == OutputFormat::markdown ? "\n" : "";
  out << separator << describe_ooms(replay);
  if (replay.fidelity && replay.fidelity->first_divergence) {
    const Divergence& first = *replay.fidelity->first_divergence;
    out << "first divergence: device_traces[" << replay.device << "][" << first.entry
        << "]: " << printable(first.description) << "\n";
  }
  for (const std::string& note : replay_notes(replay)) {
    out << "note: " << printable(note) << "\n";
  }
  out << printable(trust_line(replay)) << "\n";
}

}  // namespace

void write_replays(const std::vector<DeviceReplay>& replays, OutputFormat format,
                   bool with_timeline, std::ostream& out) {
  if (format == OutputFormat::json) {
    write_json(replays, with_timeline, out);
  } else if (format == OutputFormat::csv) {
    write_csv(replays, out);
  } else if (replays.empty()) {
    out << "The file holds no device with memory or events.\n";
  } else {
    for (const DeviceReplay& replay : replays) {
      write_for_people(replay, format, out);
    }
  }
}

}  // namespace highwater
