#include "sim/settings/advice.hpp"

#include <algorithm>
#include <tuple>

#include "allocator/settings/settings_change.hpp"
#include "sim/replay/parallel.hpp"
#include "sim/replay/sweep.hpp"
#include "sim/settings/settings_candidates.hpp"
#include "sim/settings/smallest_limit.hpp"

namespace highwater {
namespace {

/// Of the best trials, those whose smallest limit is searched: a dozen replays each.
constexpr std::size_t kLimitsSearched = 3;

constexpr std::size_t kKeptOfEachOption = 2;

std::size_t options_set(const Settings& settings) {
  const std::string conf = to_conf(settings);
  return conf.empty() ? 0 : split_options(conf).size();
}

class SettingsSearch {
 public:
  using Tried = std::function<void(std::size_t, std::size_t)>;

  SettingsSearch(const RequestTrace& trace, const ReplayOptions& options, Advice& advice,
                 const Tried& tried)
      : trace_(&trace), options_(options), advice_(&advice), tried_(&tried) {
    candidates_ = candidate_values(trace, memory_bound(options));
  }

  void run(const std::vector<Settings>& asked) {
    try_all({options_.settings});
    try_all(asked);
    for (SettingsTrial& trial : trials()) {
      trial.is_asked = std::ranges::find(asked, trial.settings) != asked.end();
    }
    advice_->present = trials().front();
    try_all(singles());
    try_all(combinations());
    sort(trials());
    search_limits();
  }

 private:
  [[nodiscard]] std::vector<SettingsTrial>& trials() { return advice_->trials; }

  /// Out of memory, no gain that counts, peak in steps of noise, other than the present settings,
  /// options, retries, device calls, exact peak.
  using Order =
      std::tuple<bool, bool, std::uint64_t, bool, std::size_t, std::uint64_t, std::uint64_t, Bytes>;

  /// Peaks in steps of the noise above the lowest one, so that all comparisons agree on which are
  /// equal.
  [[nodiscard]] std::uint64_t noise_steps(const SettingsTrial& trial) const {
    const std::uint64_t step = std::max<std::uint64_t>(advice_->noise.count(), 1);
    return (trial.result.peak.reserved - std::min(lowest_, trial.result.peak.reserved)).count() /
           step;
  }

  [[nodiscard]] Order order_of(const SettingsTrial& trial) const {
    return {!trial.survives(),    !advice_->gains(trial),
            noise_steps(trial),   trial.settings != options_.settings,
            trial.options,        trial.result.counts.alloc_retries,
            trial.device_calls(), trial.result.peak.reserved};
  }

  [[nodiscard]] Settings changed(const Settings& settings, const std::string& option,
                                 const std::string& value) const {
    return with_option(settings, option, value, *options_.version);
  }

  /// Each value of each option alone, on top of the present settings.
  [[nodiscard]] std::vector<Settings> singles() const {
    std::vector<Settings> list;
    for (const OptionValues& option : candidates_) {
      for (const std::string& value : option.values) {
        list.push_back(changed(options_.settings, option.option, value));
      }
    }
    return list;
  }

  /// The best values of each option alone, and its default, combined in every way.
  [[nodiscard]] std::vector<Settings> combinations() {
    std::vector<Settings> list{options_.settings};
    for (const OptionValues& option : candidates_) {
      std::vector<Settings> longer;
      for (const Settings& settings : list) {
        for (const std::string& value : best_values(option)) {
          longer.push_back(changed(settings, option.option, value));
        }
      }
      list = std::move(longer);
    }
    return list;
  }

  [[nodiscard]] std::vector<std::string> best_values(const OptionValues& option) {
    std::vector<std::pair<const SettingsTrial*, std::string>> ranked;
    for (const std::string& value : option.values) {
      const Settings settings = changed(options_.settings, option.option, value);
      ranked.emplace_back(&*std::ranges::find(trials(), settings, &SettingsTrial::settings), value);
    }
    std::ranges::stable_sort(ranked, [&](const auto& a, const auto& b) {
      return order_of(*a.first) < order_of(*b.first);
    });
    std::vector<std::string> values{std::string(kDefaultValue)};
    for (const auto& [trial, value] : ranked) {
      if (value != kDefaultValue && values.size() <= kKeptOfEachOption) {
        values.push_back(value);
      }
    }
    return values;
  }

  /// Replays the settings that were not replayed yet.
  void try_all(const std::vector<Settings>& list) {
    std::vector<ReplayOptions> cases;
    for (const Settings& settings : list) {
      const bool is_new =
          std::ranges::find(trials(), settings, &SettingsTrial::settings) == trials().end() &&
          std::ranges::find(cases, settings, &ReplayOptions::settings) == cases.end();
      if (is_new) {
        cases.push_back(options_);
        cases.back().settings = settings;
      }
    }
    const std::size_t before = trials().size();
    std::vector<ReplayResult> results = sweep(
        *trace_, cases, [&](std::size_t done) { (*tried_)(before + done, before + cases.size()); });
    for (std::size_t i = 0; i < cases.size(); ++i) {
      trials().push_back({.settings = cases[i].settings,
                          .options = options_set(cases[i].settings),
                          .result = std::move(results[i]),
                          .smallest_limit = std::nullopt});
      const SettingsTrial& trial = trials().back();
      lowest_ = trial.survives() ? std::min(lowest_, trial.result.peak.reserved) : lowest_;
    }
  }

  void sort(std::vector<SettingsTrial>& list) const {
    std::ranges::stable_sort(list, [&](const SettingsTrial& a, const SettingsTrial& b) {
      return order_of(a) < order_of(b);
    });
  }

  [[nodiscard]] std::vector<SettingsTrial*> best_trials() {
    std::vector<SettingsTrial*> best;
    for (std::size_t i = 0; i < std::min(trials().size(), kLimitsSearched); ++i) {
      best.push_back(&trials()[i]);
    }
    return best;
  }

  /// Where none survives, a trial's peak only shows where it was cut off: those that reserve least
  /// without a limit need least with one.
  [[nodiscard]] std::vector<SettingsTrial*> lowest_without_bound() {
    std::vector<ReplayOptions> cases;
    for (const SettingsTrial& trial : trials()) {
      cases.push_back(with_memory(options_, std::nullopt));
      cases.back().settings = trial.settings;
    }
    const std::vector<ReplayResult> results = sweep(*trace_, cases);
    std::vector<std::pair<Bytes, SettingsTrial*>> order;
    for (std::size_t i = 0; i < results.size(); ++i) {
      order.emplace_back(results[i].peak.reserved, &trials()[i]);
    }
    std::ranges::stable_sort(order, {}, &std::pair<Bytes, SettingsTrial*>::first);
    std::vector<SettingsTrial*> lowest;
    for (std::size_t i = 0; i < std::min(order.size(), kLimitsSearched); ++i) {
      lowest.push_back(order[i].second);
    }
    return lowest;
  }

  void search_limits() {
    std::vector<SettingsTrial*> chosen{&advice_->present};
    std::ranges::move(trials().front().survives() ? best_trials() : lowest_without_bound(),
                      std::back_inserter(chosen));
    for (SettingsTrial& trial : trials()) {
      if (trial.is_asked && std::ranges::find(chosen, &trial) == chosen.end()) {
        chosen.push_back(&trial);
      }
    }
    for_each_index(chosen.size(), [&](std::size_t i) {
      ReplayOptions options = options_;
      options.settings = chosen[i]->settings;
      chosen[i]->smallest_limit = smallest_limit(*trace_, options, Bytes{0});
    });
  }

  const RequestTrace* trace_;
  ReplayOptions options_;
  Advice* advice_;
  const Tried* tried_;
  std::vector<OptionValues> candidates_;
  Bytes lowest_ = kUnlimited;  ///< peak of those that survive
};

}  // namespace

bool Advice::gains(const SettingsTrial& trial) const {
  if (!trial.survives() || !present.survives()) {
    return trial.survives();
  }
  const Bytes peak = trial.result.peak.reserved;
  return peak < present.result.peak.reserved && peak + noise <= present.result.peak.reserved;
}

Bytes Advice::most_gained() const {
  Bytes lowest = present.result.peak.reserved;
  for (const SettingsTrial& trial : trials) {
    lowest = trial.survives() ? std::min(lowest, trial.result.peak.reserved) : lowest;
  }
  return present.result.peak.reserved - lowest;
}

Advice search_settings(const RequestTrace& trace, const ReplayOptions& options, Bytes noise,
                       const std::vector<Settings>& asked,
                       const std::function<void(std::size_t, std::size_t)>& tried) {
  Advice advice;
  advice.noise = noise;
  ReplayOptions plain = options;
  plain.observer = nullptr;
  plain.decisions = DecisionDetail::none;
  SettingsSearch(trace, plain, advice, tried).run(asked);
  return advice;
}

}  // namespace highwater
