#include "tools/options/part_words.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/fleet/fleet.hpp"
#include "traces/error.hpp"
#include "workloads/plan/options/file_words.hpp"

namespace highwater {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

// --edit beside:FILE, --lengths FILE, --from FILE and the like read files; nothing here writes one.
constexpr auto kValues = std::to_array<std::string_view>({"alloc-conf",
                                                          "allow",
                                                          "bridge",
                                                          "capacity",
                                                          "compare",
                                                          "device",
                                                          "edit",
                                                          "estimates",
                                                          "event-lags",
                                                          "fail-on-oom",
                                                          "format",
                                                          "formulas-only",
                                                          "from",
                                                          "global-batch",
                                                          "gpus",
                                                          "lengths",
                                                          "llmem-base",
                                                          "margin",
                                                          "max-error",
                                                          "max-expansion",
                                                          "max-reserved",
                                                          "memory-fraction",
                                                          "memory-limit",
                                                          "moe-loads",
                                                          "network",
                                                          "only",
                                                          "pad-to-multiple-of",
                                                          "rank",
                                                          "recorded",
                                                          "rows",
                                                          "runs",
                                                          "seed",
                                                          "set",
                                                          "tensor-first",
                                                          "top",
                                                          "tp-comm-overlap",
                                                          "train-sampling-strategy",
                                                          "values"});

constexpr auto kPlaces = std::to_array<std::string_view>(
    {"shard", "output", "journal", "resume", "stall-after", "piece-times", "html", "sqlite"});

/// Those of a shard itself; of the others, whoever merges gives them.
constexpr std::size_t kShardPlaces = 6;

template <class Names>
bool contains(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// A pipe or a device could hold the reader up for ever.
Complaint complaint_about_file(const std::string& name) {
  std::error_code error;
  const fs::file_status status = fs::status(name, error);
  const bool is_special =
      fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
  if (name == "-" || is_special) {
    return fmt::format("names {}, which is not a file or a folder",
                       name == "-" ? "standard input" : name);
  }
  return std::nullopt;
}

Complaint complaint_about_engine(const std::string& engine) {
  if (engine != "model" && engine != "auto") {
    return fmt::format("names the engine {}, which starts Python", engine);
  }
  return std::nullopt;
}

/// Of one that is a plan's, or has the same name and meaning.
Complaint complaint_about_plan_word(const OptionWord& word) {
  const auto& [option, value] = word;
  if (option == "engine") {
    return complaint_about_engine(value);
  }
  if (value == "auto" && contains(std::array{"torch", "transformers", "deepspeed", "torchtitan"},
                                  std::string_view(option))) {
    return "names the release that is installed, which only Python knows";
  }
  return complaint_about_file_word(word);
}

/// What `--set` tries for an option of the plan: KEY=V1,V2,...
Complaint complaint_about_axis(const std::string& axis) {
  const std::size_t equals = std::min(axis.find('='), axis.size());
  const std::string key = axis.substr(0, equals);
  const std::string values = equals < axis.size() ? axis.substr(equals + 1) : "";
  if (key == "engine" || key == "python" ||
      (key == "model" && values.find(".py:") != values.npos)) {
    return fmt::format("tries values of {}, which can start Python", key);
  }
  return std::nullopt;
}

Complaint complaint_about_value(const std::string& option, const std::string& value) {
  return option == "set" ? complaint_about_axis(value) : complaint_about_plan_word({option, value});
}

Complaint complaint_about_option(const po::option& option) {
  const std::string& name = option.string_key;
  const bool is_positional = option.position_key >= 0;
  if (!is_positional && !contains(kValues, name) && find_option(name) == nullptr) {
    return "is not an option that a part may carry";
  }
  for (const std::string& value : option.value) {
    if (Complaint complaint = complaint_about_value(name, value)) {
      return complaint;
    }
  }
  return std::nullopt;
}

/// Whoever runs a shard names files of their own.
Complaint complaint_of_merge(const po::option& option) {
  for (const std::string& value : option.value) {
    if (Complaint complaint = complaint_about_file(value)) {
      return complaint;
    }
  }
  return complaint_about_option(option);
}

std::string name_of(const po::option& option) {
  return option.position_key >= 0 ? fmt::format("{}", fmt::join(option.value, " "))
                                  : "--" + option.string_key;
}

void check_of_merge(const PartFiles& parts, const Command& command,
                    const po::parsed_options& words) {
  if (command.merging == Merging::refused) {
    throw InputError(
        parts.name(), "command",
        fmt::format("is 'highwater {}', which merge does not run for a part", command.name),
        "merge parts that --shard wrote");
  }
  for (const po::option& option : words.options) {
    if (parts.is_typed(option.string_key)) {
      continue;
    }
    if (const Complaint complaint = complaint_of_merge(option)) {
      throw InputError(parts.name(), "command", fmt::format("{}: {}", name_of(option), *complaint),
                       "a part may only carry plain values; merge parts that --shard wrote");
    }
  }
}

bool is_of_shard(const po::option& option) {
  return contains(std::span(kPlaces).first(kShardPlaces), option.string_key);
}

void check_of_shard(const po::parsed_options& words) {
  for (const po::option& option : words.options) {
    if (contains(std::span(kPlaces).subspan(kShardPlaces), option.string_key)) {
      throw UsageError(fmt::format(
          "--{0} does not apply to a shard, which writes only its part; give it to merge",
          option.string_key));
    }
    if (is_of_shard(option) || option.string_key == "help" || option.string_key == "help-all") {
      continue;
    }
    if (const Complaint complaint = complaint_about_option(option)) {
      throw UsageError(fmt::format("{}: {}, so merge would refuse the parts; omit it or --shard",
                                   name_of(option), *complaint));
    }
  }
}

}  // namespace

std::span<const std::string_view> options_of_values() {
  return kValues;
}

std::span<const std::string_view> options_of_place() {
  return kPlaces;
}

void check_part_words(const Command& command, const po::parsed_options& words) {
  if (const PartFiles* const parts = merged_parts()) {
    check_of_merge(*parts, command, words);
  } else if (std::ranges::count(words.options, "shard", &po::option::string_key) != 0) {
    check_of_shard(words);
  }
}

}  // namespace highwater
