#include "tools/reports/advise_report.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/replay_report.hpp"
#include "tools/text/report.hpp"
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
    return text + "; the current settings run out of memory";
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
                   ". The exact limit is unknown, between {} and {}: set it with --memory-limit",
                   to_iec(workload.limit->at_least), to_iec(workload.limit->below))
             : "";
}

std::string none_survives(const AdviceReport& report) {
  const Advice& advice = *report.advice;
  std::string text = fmt::format(
      "no settings save this run: it runs out of memory under all {} tried", advice.trials.size());
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

/// A setting that was tried, or the present ones.
struct TrialRow {
  const AdviceReport* report = nullptr;
  const SettingsTrial* trial = nullptr;
};

Cell settings_cell(const TrialRow& row) {
  const bool is_present = row.trial->settings == row.report->advice->present.settings;
  const std::string words = conf_or_default(row.trial->settings);
  Cell cell = to_conf(row.trial->settings);
  cell.shown = words + (is_present ? " (current)" : row.trial->is_asked ? " (yours)" : "");
  cell.exact = words;
  return cell;
}

/// Tables and CSV: per step.
Cell count_cell(const TrialRow& row, std::uint64_t count) {
  return Cell(count).written_as(per_step(count, row.report->steps));
}

Cell limit_cell(const TrialRow& row) {
  return row.trial->smallest_limit ? Cell(*row.trial->smallest_limit) : Cell::blank();
}

Columns<TrialRow> trial_columns(const AdviceReport& report) {
  using enum Align;
  using Row = TrialRow;
  const std::string unit = report.steps > 0 ? "/step" : "";
  return {{"settings", "settings", left, settings_cell},
          {"asked", "", left, [](const Row& row) { return row.trial->is_asked; }},
          {"survives", "", left, [](const Row& row) { return row.trial->survives(); }},
          {"peak_reserved_bytes", "peak reserved", right,
           [](const Row& row) { return row.trial->result.peak.reserved; }},
          {"device_alloc", "", right,
           [](const Row& row) { return row.trial->result.counts.device_alloc; }},
          {"device_free", "", right,
           [](const Row& row) { return row.trial->result.counts.device_free; }},
          {"", "device calls" + unit, right,
           [](const Row& row) { return count_cell(row, row.trial->device_calls()); }},
          {"alloc_retries", "retries" + unit, right,
           [](const Row& row) { return count_cell(row, row.trial->result.counts.alloc_retries); }},
          {"ooms", "", right, [](const Row& row) { return row.trial->result.counts.ooms; }},
          {"smallest_limit_bytes", "smallest memory", right, limit_cell},
          {"", "outcome", left,
           [](const Row& row) { return row.trial->survives() ? "" : "out of memory"; }}};
}

/// The present settings' row carries their smallest limit wherever they rank.
const SettingsTrial& shown(const AdviceReport& report, const SettingsTrial& trial) {
  const SettingsTrial& present = report.advice->present;
  return trial.settings == present.settings ? present : trial;
}

std::vector<TrialRow> trial_rows(const AdviceReport& report) {
  std::vector<TrialRow> rows;
  for (const SettingsTrial& trial : report.advice->trials) {
    rows.push_back({&report, &shown(report, trial)});
  }
  return rows;
}

/// The first `top`, and the present settings and those that were asked for wherever they rank.
Table trial_table(const AdviceReport& report, std::size_t top) {
  const std::vector<TrialRow> all = trial_rows(report);
  const SettingsTrial* present = &report.advice->present;
  std::vector<TrialRow> rows;
  for (const TrialRow& row : all) {
    if (rows.size() < top || row.trial == present || row.trial->is_asked) {
      rows.push_back(row);
    }
  }
  return tabulate(
      fmt::format("Settings tried by replaying: {}, best first; peaks less than {} apart are equal",
                  all.size(), to_iec(report.advice->noise)),
      trial_columns(report), rows);
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
  const std::string kept = is_default ? "the defaults" : "the current settings";
  if (advice.most_gained() == Bytes{0}) {
    return fmt::format("keep {}: none of the {} settings tried reserves less than their {}", kept,
                       advice.trials.size(), to_iec(advice.present.result.peak.reserved));
  }
  return fmt::format(
      "keep {}: the best of the {} settings tried saves {}, below the threshold of {} ({:.0f} %)",
      kept, advice.trials.size(), to_iec(advice.most_gained()), to_iec(advice.noise),
      100.0 * static_cast<double>(advice.noise.count()) /
          static_cast<double>(advice.present.result.peak.reserved.count()));
}

namespace {

boost::json::object advice_json(const AdviceReport& report) {
  boost::json::object object{
      {"subject", valid_utf8(report.workload.name)},
      {"device", report.workload.replay.device},
      {"verdict", valid_utf8(advice_verdict(report))},
      {"trusted", !report.trust.why_not},
      {"addresses_matched", share_json(report.trust.addresses)},
      {"segment_events_matched", share_json(report.trust.segment_events)},
      {"final_segments_matched", share_json(report.trust.final_segments)},
      {"own_settings_error", share_json(report.workload.replay.own_settings_error)},
      {"steps", report.steps}};
  object["advice"] = nullptr;
  if (report.advice) {
    const Advice& advice = *report.advice;
    if (advice.is_worth_it()) {
      object["advice"] = to_conf(advice.best().settings);
    }
    object["noise_bytes"] = advice.noise.count();
    const Columns<TrialRow> columns = trial_columns(report);
    object["present"] = row_json(columns, TrialRow{&report, &advice.present});
    object["trials"] = rows_json(tabulate("", columns, trial_rows(report)));
  }
  object["notes"] = words_json(replay_notes(report.workload.replay));
  object["trust"] = valid_utf8(report.workload.trust());
  return object;
}

std::string trust_sentence(const AdviceReport& report) {
  const Trustworthiness& trust = report.trust;
  if (!trust.addresses && !trust.segment_events) {  // the state alone always comes out again
    return "fidelity: nothing to compare";
  }
  return fmt::format(
      "fidelity: the model reproduces {}, {}, {}; the peak of the replayed requests is {:.2f} % "
      "off",
      matched(trust.addresses, "addresses"), matched(trust.segment_events, "segment events"),
      matched(trust.final_segments, "final segments"),
      100 * std::abs(report.workload.replay.own_settings_error.value_or(0)));
}

void add_device(const AdviceReport& device, std::size_t top, Report& report) {
  add_first_line(device.workload.replay, report);
  report.line(fmt::format("{}, device {}", device.workload.name, device.workload.replay.device));
  report.line(advice_verdict(device));
  if (device.advice) {
    if (device.advice->is_worth_it()) {
      report.text(fmt::format("\n  export PYTORCH_CUDA_ALLOC_CONF={}\n",
                              to_conf(device.advice->best().settings)));
    }
    report.table(trial_table(device, top), Gap::before);
  }
  add_notes(device.workload.replay, report);
  if (device.workload.fidelity) {
    report.line(trust_sentence(device));
  }
  report.line(device.workload.trust());
}

boost::json::array advice_of_each(const std::vector<AdviceReport>& devices) {
  boost::json::array list;
  for (const AdviceReport& device : devices) {
    list.push_back(advice_json(device));
  }
  return list;
}

}  // namespace

std::string advise_report(const std::vector<AdviceReport>& devices, OutputFormat format,
                          std::size_t top) {
  Report report(format, "highwater.advise/1");
  if (devices.empty()) {
    report.line("The file holds no device with memory or events.");
  }
  for (const AdviceReport& device : devices) {
    add_device(device, top, report);
    report.csv([&] {
      return device.advice ? trial_table(device, device.advice->trials.size()) : Table();
    });
  }
  report.json("devices", [&] { return advice_of_each(devices); });
  return report.str();
}

}  // namespace highwater
