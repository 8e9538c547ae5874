#include "tools/studies/sweep/sweep_axes.hpp"

#include <algorithm>
#include <array>

#include <boost/algorithm/string/split.hpp>
#include <fmt/format.h>

#include "allocator/settings/settings_change.hpp"
#include "allocator/settings/settings_describe.hpp"
#include "allocator/settings/settings_options.hpp"
#include "sim/edits/candidate_edits.hpp"
#include "sim/settings/settings_candidates.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/usage_errors.hpp"
#include "traces/edit_distance.hpp"
#include "workloads/plan/gpu.hpp"
#include "workloads/plan/options/aliases.hpp"
#include "workloads/plan/options/read_plan.hpp"

namespace highwater {
namespace {

struct NamedKind {
  std::string_view key;
  AxisKind kind;
};

constexpr std::string_view kAutomatic = "auto";

/// Keys that every workload has.
constexpr std::array kCommonKeys{
    NamedKind{"alloc-conf", AxisKind::all_settings},
    NamedKind{"alloc_conf", AxisKind::all_settings},
    NamedKind{"capacity", AxisKind::capacity},
    NamedKind{"memory-limit", AxisKind::memory_limit},
    NamedKind{"memory_limit", AxisKind::memory_limit},
    NamedKind{"fraction", AxisKind::memory_fraction},
    NamedKind{"memory-fraction", AxisKind::memory_fraction},
    NamedKind{"torch", AxisKind::torch},
    NamedKind{kEditKey, AxisKind::edit},
};

std::vector<std::string> settings_options() {
  std::vector<std::string> names;
  for (const VersionPreset& preset : version_presets()) {
    for (const std::string_view name : option_names(preset)) {
      names.emplace_back(name);
    }
  }
  return names;
}

std::optional<AxisKind> kind_of(const std::string& key, Swept swept) {
  if (swept == Swept::plan && key == "torch") {
    return AxisKind::plan;  // the release also determines the requests
  }
  const auto* const limit = std::ranges::find(kCommonKeys, key, &NamedKind::key);
  if (limit != kCommonKeys.end()) {
    return limit->kind;
  }
  if (std::ranges::count(settings_options(), key) != 0) {
    return AxisKind::settings;
  }
  if (swept == Swept::plan && find_option(key) != nullptr) {
    return AxisKind::plan;
  }
  return std::nullopt;
}

std::string unknown_key(const std::string& key, Swept swept) {
  if (swept == Swept::recording && find_option(key) != nullptr) {
    return fmt::format("--set {}: applies only with --model; a recorded file cannot change it",
                       key);
  }
  std::vector<std::string> known = settings_options();
  for (const NamedKind& limit : kCommonKeys) {
    known.emplace_back(limit.key);
  }
  if (swept == Swept::plan) {
    std::ranges::move(plan_option_names(), std::back_inserter(known));
  }
  const auto meant = nearest_word(key, known);
  return fmt::format(
      "--set {}: unknown key; {}", key,
      meant ? fmt::format("did you mean {}?", *meant)
            : "use an option of PYTORCH_CUDA_ALLOC_CONF, alloc-conf, capacity, memory-limit, "
              "fraction, torch, edit, or with --model an option of the plan");
}

/// The name by which an option of a plan is known here, if `key` is another program's.
std::string own_key(const std::string& key, Swept swept) {
  if (swept == Swept::recording || kind_of(key, swept)) {
    return key;
  }
  const OptionAlias* const alias = find_alias(key);
  const std::string own =
      alias != nullptr && alias->value.empty() ? std::string(alias->option) : alias_key(key);
  return find_option(own) != nullptr ? own : key;
}

/// What known GPUs leave the allocator of a plan, or their memory, around what the workload needs;
/// smallest first.
std::vector<std::string> gpu_capacities(const Workload& workload) {
  const Bytes least = workload.replay.result.peak.allocated;
  std::vector<Bytes> sizes;
  for (const Gpu& gpu : known_gpus()) {
    sizes.push_back(workload.simulation ? memory_for_allocator(gpu, workload.simulation->plan)
                                        : gpu.total_memory);
  }
  std::ranges::sort(sizes);
  const auto repeated = std::ranges::unique(sizes);
  sizes.erase(repeated.begin(), repeated.end());
  // A capacity below the live bytes is useless, and those far above the peak all give the same
  // result.
  std::erase_if(sizes, [&](Bytes size) { return size < least; });
  sizes.resize(std::min<std::size_t>(sizes.size(), 4));
  std::vector<std::string> values;
  for (const Bytes size : sizes) {
    values.push_back(fmt::format("{}", size.count()));
  }
  return values;
}

std::vector<std::string> automatic_values(const Workload& workload, const SweepAxis& axis) {
  if (axis.kind == AxisKind::settings) {
    return candidate_values(axis.key, *workload.trace, memory_bound(workload.options)).values;
  }
  std::vector<std::string> values;
  if (axis.kind == AxisKind::edit) {
    values.emplace_back(kNoEdit);
    for (const NamedEdit& candidate : candidate_edits(*workload.trace, workload.older_events)) {
      values.push_back(candidate.words);
    }
  } else if (axis.kind == AxisKind::capacity) {
    values = gpu_capacities(workload);
  } else if (axis.key == "torch") {
    for (const VersionPreset& preset : version_presets()) {
      values.emplace_back(preset.name);
    }
  }
  return values;
}

Bytes size_value(const SweepAxis& axis, const std::string& value) {
  const auto size = parse_bytes(value);
  if (!size) {
    throw UsageError(not_a_size(fmt::format("--set {}={}", axis.key, value)));
  }
  return *size;
}

double fraction_value(const SweepAxis& axis, const std::string& value) {
  char* end = nullptr;
  const double fraction = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !(fraction >= 0 && fraction <= 1)) {
    throw UsageError(fmt::format("--set {}={}: not a number from 0 to 1; use 0.8, for example",
                                 axis.key, value));
  }
  return fraction;
}

Bytes share_of_capacity(const SweepAxis& axis, const std::string& value, const SweepPoint& point) {
  if (!point.shown.capacity) {
    throw UsageError(fmt::format(
        "--set {}: this is a share of the device's memory; add --capacity or --gpu", axis.key));
  }
  const double share = fraction_value(axis, value);
  return Bytes{
      static_cast<std::uint64_t>(share * static_cast<double>(point.shown.capacity->count()))};
}

void apply_option(const SweepAxis& axis, const std::string& value, SweepPoint& point) {
  try {
    point.options.settings =
        with_option(point.options.settings, axis.key, value, *point.options.version);
  } catch (const SettingsError& error) {
    throw UsageError(fmt::format("--set {}={}: {}", axis.key, value,
                                 refusal_text(error, *point.options.version)));
  }
}

void apply_conf(const std::string& conf, SweepPoint& point) {
  point.options.settings = settings_from_command_line(conf == kDefaultValue ? "" : conf,
                                                      *point.options.version, "set alloc-conf");
}

std::vector<std::string> split_values(AxisKind kind, const std::string& values) {
  if (kind == AxisKind::edit) {
    return split_edits(values);
  }
  if (kind != AxisKind::all_settings) {
    return split_options(values);
  }
  std::vector<std::string> list;
  boost::algorithm::split(list, values, [](char c) { return c == ';'; });
  return list;
}

}  // namespace

std::vector<SweepAxis> read_axes(const std::vector<std::string>& texts, Swept swept,
                                 std::vector<std::string>& problems) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size()) {
      problems.push_back(fmt::format("--set {}: write key=value,value,... or key=auto", text));
      continue;
    }
    SweepAxis axis{own_key(text.substr(0, equals), swept), {}, {}};
    if (const auto kind = kind_of(axis.key, swept)) {
      axis.kind = *kind;
      const std::string values = text.substr(equals + 1);
      axis.values = split_values(*kind, values);
      axes.push_back(std::move(axis));
    } else {
      problems.push_back(unknown_key(axis.key, swept));
    }
  }
  return axes;
}

std::vector<std::string> wrong_plan_values(const std::vector<SweepAxis>& axes) {
  std::vector<std::string> problems;
  for (const SweepAxis& axis : axes) {
    for (const std::string& value : axis.values) {
      const bool is_checked = axis.kind == AxisKind::plan && value != kAutomatic;
      if (const Complaint wrong = is_checked ? complaint_about(axis.key, value) : std::nullopt) {
        problems.push_back(fmt::format("--set {}={}: {}", axis.key, value, *wrong));
      }
    }
  }
  return problems;
}

std::vector<std::string> wrong_edits(const std::vector<SweepAxis>& axes) {
  std::vector<std::string> problems;
  for (const SweepAxis& axis : axes) {
    for (const std::string& value : axis.values) {
      if (axis.kind == AxisKind::edit && value != kNoEdit && value != kAutomatic) {
        try {
          static_cast<void>(read_edit(value));
        } catch (const UsageError& error) {
          problems.push_back(fmt::format("--set {}: {}", axis.key, error.what()));
        }
      }
    }
  }
  return problems;
}

std::vector<SweepAxis> default_axes(const Workload& workload) {
  std::vector<SweepAxis> axes;
  for (OptionValues& values : candidate_values(*workload.trace, memory_bound(workload.options))) {
    axes.push_back({std::move(values.option), AxisKind::settings, std::move(values.values)});
  }
  return axes;
}

void expand_auto(const Workload& workload, std::vector<SweepAxis>& axes) {
  for (SweepAxis& axis : axes) {
    if (axis.values != std::vector<std::string>{std::string(kAutomatic)}) {
      continue;
    }
    axis.values = automatic_values(workload, axis);
    if (axis.values.empty()) {
      throw UsageError(fmt::format("--set {}=auto: no values to choose from; list them", axis.key));
    }
  }
}

void apply(const SweepAxis& axis, const std::string& value, SweepPoint& point) {
  switch (axis.kind) {
    case AxisKind::settings:
      apply_option(axis, value, point);
      break;
    case AxisKind::all_settings:
      apply_conf(value, point);
      break;
    case AxisKind::capacity:
      if (point.is_limit_shown) {
        point.options.memory_limit.reset();
      }
      point.options.capacity = point.shown.capacity = size_value(axis, value);
      point.options.limits = MemoryLimits::of_the_caller;
      break;
    case AxisKind::memory_limit:
      point.options.memory_limit = size_value(axis, value);
      point.options.limits = MemoryLimits::of_the_caller;
      break;
    case AxisKind::memory_fraction:
      point.options.memory_limit = share_of_capacity(axis, value, point);
      point.options.limits = MemoryLimits::of_the_caller;
      break;
    case AxisKind::torch:
      point.options.version = &version_preset(value);
      break;
    case AxisKind::plan:
    case AxisKind::edit:
      break;
  }
}

}  // namespace highwater
