// Chooses the grammar, applies the resets that precede every parse, and writes settings back.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "allocator/settings/settings.hpp"
#include "allocator/settings/settings_grammars.hpp"

namespace highwater {
namespace {

/// Collects "name:value" items, separated by ','.
class ConfWriter {
 public:
  template <class Value>
  void add(std::string_view name, const Value& value) {
    text_ += fmt::format("{}{}:{}", text_.empty() ? "" : ",", name, value);
  }

  void add_if_set(std::string_view name, bool flag) {
    if (flag) {
      add(name, "True");
    }
  }

  [[nodiscard]] std::string text() && { return std::move(text_); }

 private:
  std::string text_;
};

/// In MiB; "-1" for the largest limit, which is what it means to both grammars.
std::string in_mebibytes(Bytes limit) {
  constexpr std::uint64_t kLargest = ~std::uint64_t{0} >> 20;
  const std::uint64_t mebibytes = limit.count() >> 20;
  return mebibytes == kLargest ? "-1" : fmt::format("{}", mebibytes);
}

/// "8" when every interval has it, else "[256:2,512:4,...]" without '>', which the grammars read
/// differently. The first listed value also fills the entries below, entries that are not listed
/// are 0.
std::string divisions_text(const std::array<std::uint64_t, 16>& table) {
  const auto differs = std::ranges::find_if(table, [&](auto n) { return n != table.front(); });
  if (differs == table.end()) {
    return fmt::format("{}", table.front());
  }
  const auto first = static_cast<std::size_t>(differs - table.begin()) - 1;
  std::string list = fmt::format("{}:{}", std::size_t{1} << first, table[first]);
  for (std::size_t i = first + 1; i < table.size(); ++i) {
    if (table[i] != 0) {
      list += fmt::format(",{}:{}", std::size_t{1} << i, table[i]);
    }
  }
  return "[" + list + "]";
}

void write_sizes(const Settings& settings, ConfWriter& conf) {
  if (settings.large_segment_size != kLargeBuffer) {
    conf.add("large_segment_size_mb", in_mebibytes(settings.large_segment_size));
  }
  if (settings.max_split_size != kUnlimited) {
    conf.add("max_split_size_mb", in_mebibytes(settings.max_split_size));
  }
  if (settings.max_non_split_rounding_size != settings.large_segment_size) {
    conf.add("max_non_split_rounding_mb", in_mebibytes(settings.max_non_split_rounding_size));
  }
  if (std::ranges::any_of(settings.roundup_power2_divisions, [](auto n) { return n != 0; })) {
    conf.add("roundup_power2_divisions", divisions_text(settings.roundup_power2_divisions));
  }
}

}  // namespace

Settings parse_settings(std::string_view conf, const VersionPreset& version) {
  Settings settings;
  apply_settings(conf, version, settings);
  return settings;
}

void apply_settings(std::string_view conf, const VersionPreset& version, Settings& settings) {
  settings.max_split_size = kUnlimited;
  settings.roundup_power2_divisions = {};
  settings.garbage_collection_threshold = 0;
  if (version.grammar == SettingsGrammar::strict) {
    detail::apply_strict(conf, settings);
  } else {
    detail::apply_tolerant(conf, version, settings);
  }
}

std::string to_conf(const Settings& settings) {
  ConfWriter conf;
  write_sizes(settings, conf);
  if (settings.garbage_collection_threshold > 0) {
    conf.add("garbage_collection_threshold", settings.garbage_collection_threshold);
  }
  conf.add_if_set("expandable_segments", settings.expandable_segments);
  if (settings.per_process_memory_fraction) {
    conf.add("per_process_memory_fraction", *settings.per_process_memory_fraction);
  }
  conf.add_if_set("release_lock_on_cudamalloc", settings.release_lock_on_cudamalloc);
  conf.add_if_set("pinned_use_cuda_host_register", settings.pinned_use_cuda_host_register);
  if (settings.pinned_num_register_threads != 1) {
    conf.add("pinned_num_register_threads", settings.pinned_num_register_threads);
  }
  conf.add_if_set("pinned_use_background_threads", settings.pinned_use_background_threads);
  conf.add_if_set("graph_capture_record_stream_reuse", settings.graph_capture_record_stream_reuse);
  return std::move(conf).text();
}

}  // namespace highwater
