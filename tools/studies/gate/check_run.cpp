#include "tools/studies/gate/check_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "allocator/settings/settings_describe.hpp"
#include "tools/studies/explanation/peak_diff_run.hpp"
#include "tools/studies/gate/peak_words.hpp"
#include "tools/text/progress_line.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

/// The baseline's figures of a device, set beside those of the run.
struct Comparison {
  const BaselineDevice* before = nullptr;
  PeakChange change;
};

std::optional<Comparison> compare(const CheckedDevice& device, const CheckLimits& limits) {
  const BaselineDevice* before = limits.baseline ? limits.baseline->find(device.number()) : nullptr;
  return before == nullptr
             ? std::nullopt
             : std::optional(Comparison{before, change_of_peak(before->peak, device.peak)});
}

/// Accepting the run leaves a device out that it does not use.
LimitCheck absence(const CheckLimits& limits) {
  const bool accepts = limits.use == BaselineUse::accept;
  return {limits.baseline_name, std::nullopt, accepts,
          accepts ? fmt::format("left out of {}, because the run does not use this device",
                                limits.baseline_name)
                  : fmt::format("in {}, but the run does not use this device; accept that with "
                                "--accept, or check one device with --device N",
                                limits.baseline_name)};
}

std::vector<MissingDevice> missing_devices(const CheckResult& result, const CheckLimits& limits) {
  std::vector<MissingDevice> missing;
  const bool is_refused = limits.use == BaselineUse::accept && result.ran_out();
  if (!limits.baseline || !limits.is_whole_run || is_refused) {
    return missing;
  }
  for (const BaselineDevice& before : limits.baseline->devices) {
    if (std::ranges::find(result.devices, before.device, &CheckedDevice::number) ==
        result.devices.end()) {
      missing.push_back({before.device, absence(limits)});
    }
  }
  return missing;
}

LimitCheck run_to_the_end(const CheckedDevice& device) {
  return {"runs to its end", std::nullopt, false, oom_words(device.workload.replay.result)};
}

LimitCheck held_against(const Budget& budget, const std::string& name, const CheckedDevice& device,
                        const std::string& who) {
  LimitCheck limit{name, budget, budget.admits(device.reserved()),
                   budget_words(budget, device.reserved())};
  limit.words = limit.is_kept ? limit.words : with_clause(limit.words, who);
  return limit;
}

LimitCheck growth_check(const CheckedDevice& device, const CheckLimits& limits,
                        const Comparison& comparison) {
  const Budget budget = budget_of(comparison.before->peak.parts.total(), limits.baseline_name,
                                  "--max-growth", limits.growth);
  return held_against(budget, "max-growth " + limits.growth.text(), device,
                      growth_words(comparison.change));
}

LimitCheck not_in_baseline(const CheckLimits& limits) {
  return {limits.baseline_name, std::nullopt, false,
          fmt::format("this device is not in {}; add it with --accept", limits.baseline_name)};
}

/// What is accepted, and how it differs from what was accepted before.
LimitCheck acceptance(const CheckedDevice& device, const CheckLimits& limits,
                      const std::optional<Comparison>& comparison) {
  if (device.ran_out()) {
    return {limits.baseline_name, std::nullopt, false,
            "not accepted, because the run did not finish"};
  }
  LimitCheck limit{limits.baseline_name, std::nullopt, true,
                   fmt::format("accepted peak reserved {}", to_iec(device.reserved()))};
  if (comparison) {
    const Bytes before = comparison->before->peak.parts.total();
    limit.words += fmt::format(", was {}", to_iec(before));
    limit.words = with_clause(limit.words, growth_words(comparison->change));
  }
  return limit;
}

LimitCheck baseline_check(const CheckedDevice& device, const CheckLimits& limits,
                          const std::optional<Comparison>& comparison) {
  if (limits.use == BaselineUse::accept) {
    return acceptance(device, limits, comparison);
  }
  return comparison ? growth_check(device, limits, *comparison) : not_in_baseline(limits);
}

std::string spoken_conf(const std::string& conf) {
  return conf.empty() ? "default settings" : conf;
}

/// A run under other settings is another run.
void note_differences(const BaselineDevice& before, CheckedDevice& device) {
  const DeviceReplay& replay = device.workload.replay;
  if (const std::string conf = to_conf(replay.settings); conf != before.settings) {
    device.notes.push_back(fmt::format("the baseline was accepted under {}, this run is under {}",
                                       spoken_conf(before.settings), spoken_conf(conf)));
  }
  if (replay.version->name != before.torch) {
    device.notes.push_back(
        fmt::format("the baseline was accepted with the allocator of PyTorch {}, this run has "
                    "that of {}",
                    before.torch, replay.version->name));
  }
}

void add_other_devices(const Baseline& before, Baseline& baseline) {
  for (const BaselineDevice& device : before.devices) {
    if (baseline.find(device.device) == nullptr) {
      baseline.devices.push_back(device);
    }
  }
  std::ranges::sort(baseline.devices, {}, &BaselineDevice::device);
}

CheckedDevice check_device(Workload workload, const CheckLimits& limits) {
  WorkloadPeak peak = peak_of(std::move(workload));
  CheckedDevice device;
  device.peak = named_peak(peak);
  device.workload = std::move(peak.workload);
  const auto comparison = compare(device, limits);
  if (device.ran_out()) {
    device.limits.push_back(run_to_the_end(device));
  }
  if (limits.max_reserved) {
    device.limits.push_back(held_against(
        budget_of(*limits.max_reserved), "max-reserved " + to_iec(*limits.max_reserved), device,
        comparison ? growth_words(comparison->change) : holders_words(device.peak)));
  }
  if (!limits.baseline_name.empty()) {
    device.limits.push_back(baseline_check(device, limits, comparison));
  }
  if (comparison) {
    note_differences(*comparison->before, device);
  }
  return device;
}

}  // namespace

bool CheckedDevice::is_kept() const {
  return std::ranges::all_of(limits, &LimitCheck::is_kept);
}

bool CheckResult::is_kept() const {
  const auto is_device_kept = [](const MissingDevice& device) { return device.limit.is_kept; };
  return std::ranges::all_of(devices, &CheckedDevice::is_kept) &&
         std::ranges::all_of(missing, is_device_kept);
}

bool CheckResult::ran_out() const {
  return std::ranges::any_of(devices, &CheckedDevice::ran_out);
}

CheckResult check_workloads(std::vector<Workload> workloads, const CheckLimits& limits) {
  CheckResult result;
  result.subject = workloads.front().name;
  require_history(workloads, "its peak is unknown");
  for (Workload& workload : workloads) {
    result.devices.push_back(check_device(std::move(workload), limits));
  }
  result.missing = missing_devices(result, limits);
  return result;
}

Baseline baseline_of(const CheckResult& result, const CheckLimits& limits) {
  Baseline baseline;
  baseline.subject = result.subject;
  for (const CheckedDevice& device : result.devices) {
    const DeviceReplay& replay = device.workload.replay;
    baseline.devices.push_back(
        {replay.device, std::string(replay.version->name), to_conf(replay.settings), device.peak});
  }
  if (!limits.is_whole_run && limits.baseline) {
    add_other_devices(*limits.baseline, baseline);
  }
  return baseline;
}

std::string holders_of_peak(Workload workload) {
  return with_progress("looking at the peak",
                       [&] { return holders_words(named_peak(peak_of(std::move(workload)))); });
}

}  // namespace highwater
