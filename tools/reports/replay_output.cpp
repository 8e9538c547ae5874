#include "tools/reports/replay_output.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/edit_members.hpp"
#include "tools/reports/replay_report.hpp"
#include "tools/studies/runs/trust_line.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/report.hpp"

namespace highwater {
namespace {

constexpr std::string_view kSchema = "highwater.replay/1";

/// One curve over the buckets of a run.
struct CurveLine {
  std::vector<Bytes> low;
  std::vector<Bytes> high;
};

CurveLine curve_line(const std::vector<TimelineBucket>& buckets, Curve curve) {
  CurveLine line;
  for (const TimelineBucket& bucket : buckets) {
    line.low.push_back(bucket.low[static_cast<std::size_t>(curve)]);
    line.high.push_back(bucket.high[static_cast<std::size_t>(curve)]);
  }
  return line;
}

struct TimelineLines {
  std::uint64_t operations_per_bucket = 0;
  CurveLine requested;
  CurveLine allocated;
  CurveLine active;
  CurveLine reserved;
};

TimelineLines timeline_lines(const Timeline& timeline) {
  const std::vector<TimelineBucket> buckets = timeline.buckets();
  return {timeline.operations_per_bucket(), curve_line(buckets, Curve::requested),
          curve_line(buckets, Curve::allocated), curve_line(buckets, Curve::active),
          curve_line(buckets, Curve::reserved)};
}

struct DeviceAnswer {
  const DeviceReplay* replay = nullptr;
  TimelineKeys timeline = TimelineKeys::omitted;
};

struct ReplayAnswer {
  const std::vector<DeviceReplay>* replays = nullptr;
  TimelineKeys timeline = TimelineKeys::omitted;
  std::optional<BudgetVerdict> budget;
  std::optional<RecordedSentences> recorded;
};

std::vector<DeviceAnswer> devices_of(const ReplayAnswer& answer) {
  std::vector<DeviceAnswer> devices;
  for (const DeviceReplay& replay : *answer.replays) {
    devices.push_back({&replay, answer.timeline});
  }
  return devices;
}

}  // namespace

template <>
struct Members<CurveLine> {
  static constexpr auto kRows = std::to_array({
      member<&CurveLine::low>("low", "the lowest value of each bucket, in bytes"),
      member<&CurveLine::high>("high", "the highest value of each bucket, in bytes"),
  });
};

template <>
struct Members<TimelineLines> {
  static constexpr auto kRows = std::to_array({
      member<&TimelineLines::operations_per_bucket>("operations_per_bucket",
                                                    "operations that one bucket covers"),
      member<&TimelineLines::requested>("requested", "asked for by the program"),
      member<&TimelineLines::allocated>("allocated", "blocks handed out"),
      member<&TimelineLines::active>("active",
                                     "blocks handed out and those that wait for other streams"),
      member<&TimelineLines::reserved>("reserved", "taken from the device"),
  });
};

template <>
struct Members<DeviceAnswer> {
  static constexpr auto kRows = std::to_array({
      members_of<[](const DeviceAnswer& of) { return ListedReplay{of.replay}; }>(),
      member_if_known<[](const DeviceAnswer& of) -> const std::optional<EditedReplay>& {
        return of.replay->edited;
      }>("edited", "what --edit changed before the replay"),
      member_if_known<[](const DeviceAnswer& of) {
        return of.timeline == TimelineKeys::written
                   ? std::optional(timeline_lines(of.replay->result.timeline))
                   : std::nullopt;
      }>("timeline", "memory over time, with --timeline"),
  });
};

template <>
struct Members<RecordedSentences> {
  static constexpr auto kRows = std::to_array({
      member<&RecordedSentences::verdict>("verdict", "the answer in one sentence"),
      member<&RecordedSentences::fits>("fits", "whether the recorded run ends without an error"),
      member<&RecordedSentences::available>("available_bytes",
                                            "what the allocator may have; null: unlimited"),
      member<&RecordedSentences::limits>("limits", "what the answer holds for, a sentence each"),
  });
};

template <>
struct Members<ReplayAnswer> {
  static constexpr auto kRows = std::to_array({
      member<devices_of>("devices", "one for each device with memory or events, ascending"),
      member_if_known<&ReplayAnswer::budget>("budget", "the options that limit the run"),
      member_if_known<&ReplayAnswer::recorded>(
          "recorded", "what simulate says of a recording whose program no plan describes"),
  });
};

namespace {

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
  add_first_line(replay, report);
  report.paragraph(fmt::format("Device {}: {}", replay.device, replay_verdict(replay)));
  report.text(decision_lines(replay));
  MetricList metrics = replay_metrics(replay);
  metrics.title = fmt::format("Device {}", replay.device);
  report.table(to_table(metrics), Gap::after_markdown);
  add_private_pools(replay.result, report);
  report.text(describe_ooms(replay));
  if (replay.fidelity && replay.fidelity->first_divergence) {
    const Divergence& first = *replay.fidelity->first_divergence;
    report.line(fmt::format("first divergence: device_traces[{}][{}]: {}", replay.device,
                            first.entry, first.description));
  }
  add_notes(replay, report);
  report.line(trust_line(replay));
}

}  // namespace

std::string replay_output(const std::vector<DeviceReplay>& replays, OutputFormat format,
                          TimelineKeys timeline, const std::optional<BudgetVerdict>& budget,
                          const std::optional<RecordedSentences>& recorded) {
  Report report(format, kSchema);
  if (recorded) {
    report.paragraph(recorded->verdict);
    report.items("What this holds for", recorded->limits);
    report.text("\n");
  }
  if (replays.empty()) {
    report.line("The file holds no device with memory or events.");
  }
  for (const DeviceReplay& replay : replays) {
    add_replay(replay, report);
  }
  report.csv([&] { return replay_lines(replays); });
  report.members([&] { return object_json(ReplayAnswer{&replays, timeline, budget, recorded}); });
  return report.str();
}

boost::json::object replay_schema() {
  return answer_schema<ReplayAnswer>("replay", kSchema);
}

}  // namespace highwater
