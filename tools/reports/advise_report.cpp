#include "tools/reports/advise_report.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/replay_report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

std::string conf_or_default(const Settings& settings) {
  const std::string conf = to_conf(settings);
  return conf.empty() ? "default settings" : conf;
}

Bytes saved_bytes(Bytes larger, Bytes smaller) {
  return larger - std::min(larger, smaller);
}

std::string gain(const AdviceReport& report) {
  const SettingsTrial& best = report.advice->best();
  const SettingsTrial& present = report.advice->present;
  std::string text = fmt::format("peak reserved {}", to_iec(best.result.peak.reserved));
  if (!present.survives()) {
    return text + "; the present settings run out of memory";
  }
  const Bytes less = saved_bytes(present.result.peak.reserved, best.result.peak.reserved);
  text += fmt::format(", {} ({:.1f} %) less", to_iec(less),
                      100.0 * static_cast<double>(less.count()) /
                          static_cast<double>(present.result.peak.reserved.count()));
  return text;
}

/// A failure under a memory fraction tells the limit only as a range.
std::string room_above(const Workload& workload, Bytes needed) {
  const bool is_range =
      workload.is_limit_shown() && workload.limit->source == RecordedLimit::Source::fraction;
  return is_range && needed < workload.limit->below
             ? fmt::format(
                   ". The limit is known only to lie between {} and {}: give it with "
                   "--memory-limit",
                   to_iec(workload.limit->at_least), to_iec(workload.limit->below))
             : "";
}

std::string none_survives(const AdviceReport& report) {
  const Advice& advice = *report.advice;
  std::string text =
      fmt::format("no settings save this run: out of memory under all {} that were tried",
                  advice.trials.size());
  const auto needs_less = [](const SettingsTrial& a, const SettingsTrial& b) {
    return a.smallest_limit.value_or(kUnlimited) < b.smallest_limit.value_or(kUnlimited);
  };
  const SettingsTrial& least = *std::ranges::min_element(advice.trials, needs_less);
  const SettingsTrial& trial = needs_less(least, advice.present) ? least : advice.present;
  if (trial.smallest_limit) {
    text += fmt::format("; it needs {} with {}{}", to_iec(*trial.smallest_limit),
                        conf_or_default(trial.settings),
                        room_above(report.workload, *trial.smallest_limit));
  }
  return text;
}

/// "100.0 % of recorded addresses", "no addresses to compare".
std::string matched(const std::optional<double>& share, std::string_view what) {
  return share ? fmt::format("{:.1f} % of {}", 100 * *share, what)
               : fmt::format("no {} to compare", what);
}

boost::json::value share_json(const std::optional<double>& share) {
  return share ? boost::json::value(*share) : boost::json::value(nullptr);
}

/// Per step where steps are known, else of the run.
std::string per_step(std::uint64_t count, std::uint64_t steps) {
  return steps == 0
             ? fmt::format("{}", count)
             : fmt::format("{:.1f}", static_cast<double>(count) / static_cast<double>(steps));
}

std::string size_cell(Bytes bytes, bool exact) {
  return exact ? fmt::format("{}", bytes.count()) : to_iec(bytes);
}

std::vector<std::string> row(const AdviceReport& report, const SettingsTrial& trial, bool exact) {
  const bool is_present = trial.settings == report.advice->present.settings;
  return {conf_or_default(trial.settings) + (is_present && !exact ? " (present)" : ""),
          size_cell(trial.result.peak.reserved, exact),
          per_step(trial.device_calls(), report.steps),
          per_step(trial.result.counts.alloc_retries, report.steps),
          trial.smallest_limit ? size_cell(*trial.smallest_limit, exact) : "",
          trial.survives() ? "" : "out of memory"};
}

boost::json::object trial_json(const SettingsTrial& trial) {
  return {{"settings", to_conf(trial.settings)},
          {"survives", trial.survives()},
          {"peak_reserved_bytes", trial.result.peak.reserved.count()},
          {"device_alloc", trial.result.counts.device_alloc},
          {"device_free", trial.result.counts.device_free},
          {"alloc_retries", trial.result.counts.alloc_retries},
          {"ooms", trial.result.counts.ooms},
          {"smallest_limit_bytes", trial.smallest_limit
                                       ? boost::json::value(trial.smallest_limit->count())
                                       : boost::json::value(nullptr)}};
}

/// The present settings' row carries their smallest limit wherever they rank.
const SettingsTrial& shown(const AdviceReport& report, const SettingsTrial& trial) {
  const SettingsTrial& present = report.advice->present;
  return trial.settings == present.settings ? present : trial;
}

}  // namespace

std::string advice_verdict(const AdviceReport& report) {
  if (!report.advice) {
    return "no advice: " + *report.trust.why_not;
  }
  const Advice& advice = *report.advice;
  if (advice.is_worth_it()) {
    return fmt::format("use {}: {}", conf_or_default(advice.best().settings), gain(report));
  }
  if (!advice.present.survives()) {
    return none_survives(report);
  }
  const bool is_default = to_conf(advice.present.settings).empty();
  const std::string kept = is_default ? "the defaults" : "the present settings";
  if (advice.most_gained() == Bytes{0}) {
    return fmt::format("keep {}: none of {} settings reserves less than their {}", kept,
                       advice.trials.size(), to_iec(advice.present.result.peak.reserved));
  }
  return fmt::format(
      "keep {}: the lowest of {} settings gains {}, less than the {} that counts as a gain", kept,
      advice.trials.size(), to_iec(advice.most_gained()), to_iec(advice.noise));
}

boost::json::object advice_json(const AdviceReport& report) {
  boost::json::object object{{"subject", valid_utf8(report.workload.name)},
                             {"device", report.workload.replay.device},
                             {"verdict", valid_utf8(advice_verdict(report))},
                             {"trusted", !report.trust.why_not},
                             {"addresses_matched", share_json(report.trust.addresses)},
                             {"segment_events_matched", share_json(report.trust.segment_events)},
                             {"final_segments_matched", share_json(report.trust.final_segments)},
                             {"peak_error", report.trust.peak_error},
                             {"steps", report.steps}};
  object["advice"] = nullptr;
  if (report.advice) {
    const Advice& advice = *report.advice;
    if (advice.is_worth_it()) {
      object["advice"] = to_conf(advice.best().settings);
    }
    object["noise_bytes"] = advice.noise.count();
    object["present"] = trial_json(advice.present);
    boost::json::array& trials = object["trials"].emplace_array();
    for (const SettingsTrial& trial : advice.trials) {
      trials.push_back(trial_json(shown(report, trial)));
    }
  }
  object["notes"] = words_json(replay_notes(report.workload.replay));
  object["trust"] = valid_utf8(report.workload.trust());
  return object;
}

TextTable advice_table(const AdviceReport& report, std::size_t top, bool exact) {
  TextTable table;
  if (!report.advice) {
    return table;
  }
  const std::string unit = report.steps == 0 ? "" : "/step";
  table.columns = {"settings",       "peak reserved",   "device calls" + unit,
                   "retries" + unit, "smallest memory", "outcome"};
  table.right_aligned = {false, true, true, true, true, false};
  const std::vector<SettingsTrial>& trials = report.advice->trials;
  for (std::size_t i = 0; i < std::min(top, trials.size()); ++i) {
    table.rows.push_back(row(report, shown(report, trials[i]), exact));
  }
  const auto is_present = [&](const SettingsTrial& trial) {
    return trial.settings == report.advice->present.settings;
  };
  if (std::ranges::find_if(trials, is_present) - trials.begin() >=
      static_cast<std::ptrdiff_t>(top)) {
    table.rows.push_back(row(report, report.advice->present, exact));
  }
  return table;
}

std::string advice_text(const AdviceReport& report, OutputFormat format, std::size_t top) {
  std::string text = fmt::format("{}, device {}\n{}\n", printable(report.workload.name),
                                 report.workload.replay.device, printable(advice_verdict(report)));
  if (report.advice) {
    if (report.advice->is_worth_it()) {
      text += fmt::format("\n  export PYTORCH_CUDA_ALLOC_CONF={}\n",
                          to_conf(report.advice->best().settings));
    }
    TextTable table = advice_table(report, top, false);
    table.title =
        fmt::format("Tried by replaying: {} settings, best first", report.advice->trials.size());
    text +=
        "\n" + (format == OutputFormat::markdown ? format_markdown(table) : format_aligned(table));
  }
  for (const std::string& note : replay_notes(report.workload.replay)) {
    text += "note: " + printable(note) + "\n";
  }
  if (report.workload.fidelity) {
    text += fmt::format(
        "how far it can be trusted: the model reproduces {}, {}, {}; the peak of the replayed "
        "requests is {:.2f} % off\n",
        matched(report.trust.addresses, "addresses"),
        matched(report.trust.segment_events, "segment events"),
        matched(report.trust.final_segments, "final segments"), 100 * report.trust.peak_error);
  }
  return text + printable(report.workload.trust()) + "\n";
}

}  // namespace highwater
