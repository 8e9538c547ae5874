#include "tools/html/report_data.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "allocator/settings/constants.hpp"
#include "tools/html/report_bands.hpp"
#include "tools/html/report_comparison.hpp"
#include "tools/html/report_holders.hpp"
#include "tools/html/report_maps.hpp"
#include "tools/html/report_sites.hpp"
#include "tools/reports/explain_sentences.hpp"
#include "tools/reports/replay_report.hpp"
#include "tools/text/metrics.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// How many sites that leave blocks behind.
constexpr std::size_t kLeaksShown = 8;

std::string_view word(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::fits:
      return "fits";
    case RunOutcome::out_of_memory:
      return "out_of_memory";
    case RunOutcome::unlimited:
      break;
  }
  return "unlimited";
}

json::object level(std::string_view key, std::string_view label, Bytes bytes,
                   std::string_view meaning) {
  return {{"key", key}, {"label", label}, {"bytes", bytes.count()}, {"meaning", meaning}};
}

json::array bounds_json(const ReportRun& run) {
  const LowerBound& bound = run.explained.bars.bound;
  json::array list;
  list.push_back(level("live", "max live", bound.live,
                       "the most bytes asked for at once: no allocator can manage with less"));
  list.push_back(level("packed", "packed", bound.packed,
                       "the same blocks placed by an offline packing that knows the future"));
  return list;
}

json::object bar(std::string_view kind, std::string_view label, Bytes bytes, bool ran_out = false) {
  return {{"kind", kind}, {"label", label}, {"bytes", bytes.count()}, {"ran_out", ran_out}};
}

/// Replays under settings that are the run's own would show the same bar twice.
json::array bars_json(const ReportRun& run) {
  const FourBars& bars = run.explained.bars;
  const Settings& settings = run.explained.workload.replay.settings;
  const bool is_default = to_conf(settings).empty();
  json::array list;
  list.push_back(bar("bound", "max live", bars.bound.live));
  list.push_back(bar("bound", "packed offline", bars.bound.packed));
  if (!settings.expandable_segments) {
    list.push_back(
        bar("", "expandable segments", bars.expandable.reserved, bars.expandable.ran_out));
  }
  if (!is_default) {
    list.push_back(bar("", "default settings", bars.standard.reserved, bars.standard.ran_out));
  }
  list.push_back(bar("own", is_default ? "this run (defaults)" : "this run",
                     run.explained.workload.replay.result.peak.reserved,
                     run.outcome == RunOutcome::out_of_memory));
  return list;
}

std::string bars_about(const ReportRun& run) {
  const FourBars& bars = run.explained.bars;
  const Bytes peak = run.explained.workload.replay.result.peak.reserved;
  const std::string gap =
      bars.bound.gap() > 0
          ? fmt::format("at most {:.2f} % above the best possible", 100 * bars.bound.gap())
          : std::string("the best possible");
  const std::string win =
      run.outcome == RunOutcome::out_of_memory
          ? "This run was cut off when memory ran out, so its peak means little."
          : fmt::format("No settings can save more than {} on this run.",
                        to_iec(peak - std::min(peak, bars.bound.live_rounded)));
  return fmt::format(
      "Peaks of reserved memory under the same limit. {} The packing of the same blocks is {}; it "
      "knows the future and ignores streams and pools.",
      win, gap);
}

json::array marks_json(const ReplayHistory& history) {
  constexpr std::array<std::string_view, kMarkKinds> kWords{"out_of_memory", "retry",
                                                            "empty_cache"};
  json::array list;
  for (const HistoryMark& mark : history.marks) {
    list.push_back(
        json::array{kWords[static_cast<std::size_t>(mark.kind)], mark.at, mark.bytes.count()});
  }
  return list;
}

json::object mark_counts_json(const ReplayHistory& history) {
  return {{"out_of_memory", history.mark_counts[0]},
          {"retry", history.mark_counts[1]},
          {"empty_cache", history.mark_counts[2]}};
}

bool has_all_ranges(const ReplayHistory& history) {
  return history.of(RangeKind::step).left_out() == 0 &&
         history.of(RangeKind::phase).left_out() == 0;
}

json::array steps_json(const ReplayHistory& history) {
  json::array list;
  for (const HistoryRange& step : history.of(RangeKind::step).items) {
    list.push_back(json::array{step.begin, step.value});
  }
  return list;
}

json::array phases_json(const ReplayHistory& history, const SideTables& tables) {
  json::array list;
  for (const HistoryRange& phase : history.of(RangeKind::phase).items) {
    list.push_back(
        json::array{phase.begin, shortened(std::string(tables.strings[phase.name()]), 60)});
  }
  return list;
}

json::array figure(std::string_view label, Bytes bytes, std::string_view note = "") {
  return {label, bytes.count(), note};
}

json::array figures_json(const ReportRun& run) {
  const ReplayResult& result = run.explained.workload.replay.result;
  const Bytes never = result.peak.reserved - std::min(result.peak.reserved, result.peak.active);
  json::array list;
  list.push_back(figure("peak reserved", result.peak.reserved, "taken from the device"));
  list.push_back(figure("peak allocated", result.peak.allocated, "in allocated blocks"));
  list.push_back(figure(
      "fragmentation", never,
      fmt::format("{:.1f} % of peak reserved was never in use", 100 * result.fragmentation.peak)));
  if (run.available) {
    list.push_back(figure("limit", *run.available, "what the allocator could reserve"));
  }
  return list;
}

json::array counts_json(const ReplayCounts& counts) {
  const auto entry = [](std::string_view label, std::uint64_t n) { return json::array{label, n}; };
  return {entry("allocations", counts.allocs),
          entry("frees", counts.frees),
          entry("device allocations", counts.device_alloc),
          entry("device frees", counts.device_free),
          entry("retries", counts.alloc_retries),
          entry("out of memory", counts.ooms)};
}

std::string size_or(Bytes size, Bytes unlimited, std::string_view words) {
  return size == unlimited ? std::string(words) : to_iec(size);
}

std::string divisions_text(const Settings& settings) {
  std::string text;
  for (std::size_t i = 0; i < settings.roundup_power2_divisions.size(); ++i) {
    const std::uint64_t n = settings.roundup_power2_divisions[i];
    const bool repeats = i > 0 && settings.roundup_power2_divisions[i - 1] == n;
    if (n != 0 && !repeats) {
      text += fmt::format("{}{} from {} MiB", text.empty() ? "" : ", ", n, 1U << i);
    }
  }
  return text.empty() ? "off" : text;
}

std::string on_off(bool on) {
  return on ? "on" : "off";
}

json::array setting(std::string_view name, const std::string& value, const std::string& usual) {
  return {name, value, usual, value != usual};
}

json::array settings_json(const Settings& settings) {
  const Settings usual;
  const auto threshold = [](double share) {
    return share > 0 ? fmt::format("{}", share) : std::string("off");
  };
  return {
      setting("expandable_segments", on_off(settings.expandable_segments),
              on_off(usual.expandable_segments)),
      setting("max_split_size_mb", size_or(settings.max_split_size, kUnlimited, "unlimited"),
              "unlimited"),
      setting("max_non_split_rounding_mb", to_iec(settings.max_non_split_rounding_size),
              to_iec(usual.max_non_split_rounding_size)),
      setting("roundup_power2_divisions", divisions_text(settings), "off"),
      setting("garbage_collection_threshold", threshold(settings.garbage_collection_threshold),
              "off"),
      setting("large_segment_size_mb", to_iec(settings.large_segment_size),
              to_iec(usual.large_segment_size)),
  };
}

json::array lines_json(const std::vector<std::string>& lines) {
  json::array list;
  for (const std::string& line : lines) {
    list.emplace_back(shortened(line, 1000));
  }
  return list;
}

/// The verdict on a plan says where it does not fit, so why comes first here.
std::vector<std::string> evidence_of(const Explanation& explained) {
  if (!explained.oom) {
    return {};
  }
  std::vector<std::string> lines = oom_evidence(explained);
  if (explained.workload.is_plan()) {
    lines.insert(lines.begin(), explain_verdict(explained));
  }
  return lines;
}

/// How blocks that are freed earlier change the rest of the run is not known.
bool lets_run_go_on(const Counterfactual& trial) {
  return trial.serves && (trial.survives || trial.kind == Counterfactual::Kind::freed_blocks);
}

/// What would have helped when memory ran out, and what would not: with a tick only what lets the
/// whole run succeed, as far as that is known.
json::array trials_json(const Explanation& explained) {
  json::array list;
  for (const std::string& cure : explained.cures) {
    list.push_back(json::object{{"text", shortened(cure, 600)}, {"serves", true}});
  }
  if (explained.oom) {
    for (const Counterfactual& trial : explained.oom->counterfactuals) {
      list.push_back(json::object{{"text", shortened(counterfactual_text(explained, trial), 600)},
                                  {"serves", lets_run_go_on(trial)}});
    }
  }
  return list;
}

json::array notes_json(const ReportRun& run) {
  json::array list;
  for (const std::string& note : run.notes) {
    list.emplace_back(shortened(note, 1000));
  }
  for (const std::string& note : replay_notes(run.explained.workload.replay)) {
    list.emplace_back(shortened(note, 1000));
  }
  return list;
}

}  // namespace

json::object report_json(const ReportRun& run) {
  ReportSites sites(run);
  json::object root{{"schema", "highwater.report/1"},
                    {"title", shortened(run.title)},
                    {"plan", run.explained.workload.is_plan()},
                    {"device", run.explained.workload.replay.device},
                    {"outcome", word(run.outcome)},
                    {"verdict", shortened(run.verdict, 600)},
                    {"trust", shortened(run.explained.workload.trust(), 1000)}};
  root["figures"] = figures_json(run);
  root["counts"] = counts_json(run.explained.workload.replay.result.counts);
  root["available"] = run.available ? json::value(run.available->count()) : json::value(nullptr);
  root["peaks"] = usage_json(run.explained.workload.replay.result.peak);
  root["bounds"] = bounds_json(run);
  root["bars"] = bars_json(run);
  root["bars_about"] = bars_about(run);
  const Explanation& explained = run.explained;
  root["evidence"] = lines_json(evidence_of(explained));
  root["trials"] = trials_json(explained);
  root["drift"] = lines_json(growth_lines(explained, kLeaksShown));
  root["operations"] = run.history.length;
  root["curves"] = curves_json(run.history.timeline);
  root["steps"] = steps_json(run.history);
  root["phases"] = phases_json(run.history, run.explained.workload.trace->tables);
  root["all_stretches"] = has_all_ranges(run.history);
  root["marks"] = marks_json(run.history);
  root["mark_counts"] = mark_counts_json(run.history);
  root["moments"] = moments_json(run, sites);
  root["bands"] = bands_json(run, sites);
  root["times"] = times_json(run);
  add_holders(run, sites, root);
  root["settings"] = settings_json(run.explained.workload.replay.settings);
  root["conf"] = to_conf(run.explained.workload.replay.settings);
  root["torch"] = std::string(run.explained.workload.replay.version->name);
  const json::object replay = replay_json(run.explained.workload.replay);
  root["ooms"] = replay.at("ooms");
  root["notes"] = notes_json(run);
  root["sites"] = sites.names();
  return root;
}

json::object report_json(const ReportRun& first, const ReportRun& second) {
  return {{"schema", "highwater.report/1"},
          {"runs", json::array{report_json(first), report_json(second)}},
          {"comparison", comparison_json(first, second)}};
}

}  // namespace highwater
