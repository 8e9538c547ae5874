#include "workloads/sources/settings/settings_builder.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/sources/settings/settings_list.hpp"

namespace highwater::detail {
namespace {

/// Of all lists together: people write some dozens.
constexpr std::size_t kMostItems = 10 * kMostSettings;

/// With its path. Each setting below a long key would carry a copy of it.
constexpr std::size_t kLongestKey = 4096;

std::string place_of(std::string_view key, std::size_t line) {
  return line > 0 ? fmt::format("line {}", line) : std::string(key.substr(0, 60));
}

}  // namespace

void SettingsBuilder::begin_mapping(std::size_t line) {
  begin_entry(line);
  levels_.push_back({.is_mapping = true, .line = line, .key_size = key_.size()});
}

void SettingsBuilder::begin_list(std::size_t line) {
  begin_entry(line);
  levels_.push_back({.is_mapping = false, .line = line, .key_size = key_.size()});
}

/// A list with a mapping or a list in it has settings of its own for each entry.
void SettingsBuilder::begin_entry(std::size_t line) {
  if (levels_.empty() || levels_.back().is_mapping) {
    return;
  }
  Level& list = levels_.back();
  make_entries(list);
  extend_key(list, std::to_string(list.entries++), line);
}

void SettingsBuilder::make_entries(Level& list) {
  list.is_flat = false;
  for (Setting& item : std::exchange(list.items, {})) {
    extend_key(list, std::to_string(list.entries++), item.line);
    add(std::move(item));
  }
}

void SettingsBuilder::extend_key(const Level& level, std::string_view part, std::size_t line) {
  check_depth(levels_.size(), *file_, key_);
  key_.resize(level.key_size);
  if (key_.size() + part.size() > kLongestKey) {
    throw InputError(*file_, place_of(part, line),
                     fmt::format("a key of more than {} characters", kLongestKey),
                     "give the configuration of a training run");
  }
  key_.append(key_.empty() ? "" : ".").append(part);
}

void SettingsBuilder::key(std::string_view name, std::size_t line) {
  Level& mapping = levels_.back();
  end_last_key(mapping);
  extend_key(mapping, name, line);
  ++mapping.entries;
  const auto [known, is_new] = mapping.keys.try_emplace(std::string(name));
  if (!is_new) {
    replace(known->second);
    repeated_ = repeated_ ? repeated_ : RepeatedKey{key_, line};
  }
  known->second.begin = settings_.size();
  mapping.last = &known->second;
}

void SettingsBuilder::merged_key(std::size_t line) {
  Level& mapping = levels_.back();
  end_last_key(mapping);
  check_depth(levels_.size(), *file_, place_of(key_, line));
  key_.resize(mapping.key_size);
  ++mapping.entries;
}

void SettingsBuilder::end_last_key(Level& mapping) {
  if (Stretch* const last = std::exchange(mapping.last, nullptr)) {
    last->end = settings_.size();
  }
}

void SettingsBuilder::replace(const Stretch& stretch) {
  for (std::size_t i = stretch.begin; i < stretch.end; ++i) {
    settings_[i].is_replaced = true;
  }
}

void SettingsBuilder::end_mapping() {
  Level mapping = std::move(levels_.back());
  levels_.pop_back();
  end_last_key(mapping);
  key_.resize(mapping.key_size);
  if (mapping.entries == 0 && empty_ == EmptyMapping::setting && !levels_.empty()) {
    add({{}, "{}", SettingKind::null, {}, mapping.line});
  }
}

void SettingsBuilder::end_list() {
  Level list = std::move(levels_.back());
  levels_.pop_back();
  key_.resize(list.key_size);
  if (!list.is_flat) {
    return;
  }
  Setting setting{{}, {}, SettingKind::list, {}, list.line};
  setting.items.reserve(list.items.size());
  std::ranges::transform(list.items, std::back_inserter(setting.items), &Setting::value);
  setting.value = listed(setting.items);
  add(std::move(setting));
}

void SettingsBuilder::value(Setting setting) {
  Level* const list = levels_.empty() || levels_.back().is_mapping ? nullptr : &levels_.back();
  if (list == nullptr) {
    add(std::move(setting));
  } else if (list->is_flat) {
    if (++items_ > kMostItems) {
      throw InputError(*file_, place_of(key_, setting.line),
                       fmt::format("more than {} values in lists", kMostItems),
                       "give the configuration of a training run");
    }
    list->items.push_back(std::move(setting));
  } else {
    begin_entry(setting.line);
    add(std::move(setting));
  }
}

void SettingsBuilder::add(Setting setting) {
  check_count(settings_.size(), *file_, place_of(key_, setting.line));
  setting.key = key_;
  settings_.push_back(std::move(setting));
}

void SettingsBuilder::sort_by_line() {
  std::ranges::stable_sort(settings_, {}, &Setting::line);
}

SettingList SettingsBuilder::finish() {
  SettingList list;
  for (Setting& setting : settings_) {
    list.add(std::move(setting));
  }
  list.note_repeated(std::move(repeated_));
  return list;
}

}  // namespace highwater::detail
