#include "tools/studies/explanation/advise_run.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/studies/runs/own_settings.hpp"
#include "tools/text/progress_line.hpp"

namespace highwater {
namespace {

std::optional<double> share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? std::nullopt
                    : std::optional(static_cast<double>(part) / static_cast<double>(whole));
}

bool is_low(const std::optional<double>& share) {
  return share && *share < kLeastFidelity;
}

std::string percent(const std::optional<double>& share) {
  return fmt::format("{:.0f} %", 100 * share.value_or(1));
}

/// How far the peak of the replayed requests is off.
double peak_error(const Workload& workload) {
  return std::abs(workload.replay.own_settings_error.value_or(0));
}

std::optional<std::string> why_not(const Workload& workload, const Trustworthiness& trust) {
  if (!workload.has_history()) {
    return fmt::format(
        "no history in this file, only the state when it was taken (highwater explain shows it), "
        "so there is nothing to try settings on; {}",
        kHowToRecord);
  }
  if (workload.replay.result.counts.allocs == 0) {
    return "the file contains no allocation requests";
  }
  if (is_low(trust.addresses) || is_low(trust.segment_events)) {
    return fmt::format(
        "the model reproduces {} of the recorded addresses and {} of the segment events: too few "
        "to rely on it",
        percent(trust.addresses), percent(trust.segment_events));
  }
  if (is_low(trust.final_segments)) {
    return fmt::format(
        "after the recorded entries the model has {} of the segments that the file lists: entries "
        "are missing, or entries and segments are not from the same run",
        percent(trust.final_segments));
  }
  if (const double error = peak_error(workload); error > kMostPeakError) {
    const std::string_view why = why_replay_differs(workload.replay);
    return fmt::format(
        "the peak of the replayed requests differs from the recorded one by {:.0f} %{}{}",
        100 * error, why, why.empty() ? "" : "; record from the start");
  }
  return std::nullopt;
}

Trustworthiness trustworthiness(const Workload& workload) {
  Trustworthiness trust;
  if (workload.fidelity) {
    const Fidelity& f = *workload.fidelity;
    trust.addresses = share(f.alloc_addresses_matched, f.alloc_addresses_compared);
    trust.segment_events = share(f.segment_events_matched, f.segment_events_recorded);
    trust.final_segments = share(f.final_segments_matched, f.final_segments_compared);
  }
  trust.why_not = why_not(workload, trust);
  return trust;
}

Bytes noise_of(const Workload& workload) {
  const double peak = static_cast<double>(workload.replay.result.peak.reserved.count());
  return Bytes{static_cast<std::uint64_t>(peak * std::max(kLeastGain, 2 * peak_error(workload)))};
}

std::vector<Settings> parsed(const std::vector<std::string>& asked, const VersionPreset& version) {
  std::vector<Settings> all;
  for (const std::string& conf : asked) {
    all.push_back(settings_from_command_line(conf, version, "try"));
  }
  return all;
}

}  // namespace

AdviceReport advise(Workload workload, const std::vector<std::string>& asked) {
  AdviceReport report;
  check_itself(workload);
  report.trust = trustworthiness(workload);
  report.steps = steps_of(workload).steps.size();
  if (!report.trust.why_not) {
    const ProgressLine progress("settings");
    report.advice =
        search_settings(*workload.trace, workload.options, noise_of(workload),
                        parsed(asked, *workload.options.version),
                        [&](std::size_t tried, std::size_t known) { progress.show(tried, known); });
  }
  report.workload = std::move(workload);
  return report;
}

}  // namespace highwater
