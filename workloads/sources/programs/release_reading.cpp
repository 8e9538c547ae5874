#include "workloads/sources/programs/release_reading.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "workloads/sources/programs/rule_reading.hpp"

namespace highwater {
namespace {

/// Whether a release has the default; absent: the newest.
bool has_default(const ProgramDefault& row, std::optional<Release> release) {
  const bool has_begun = !release || !row.since || *row.since <= *release;
  return has_begun && (!row.until || (release && *release <= *row.until));
}

SettingList with_defaults(const Program& program, const SettingList& own,
                          std::optional<Release> release) {
  SettingList all;
  for (const ProgramDefault& row : program.defaults) {
    if (has_default(row, release) && own.find(row.key) == nullptr) {
      all.add({.key = std::string(row.key), .value = std::string(row.value), .is_default = true});
    }
  }
  for (const Setting& setting : own.list()) {
    all.add(setting);
  }
  return all;
}

/// The PyTorch and transformers that a file was written for, where its keys tell.
void offer_releases(const FileReleases& releases, PlanSource& source) {
  for (const std::string_view package : {"torch", "transformers"}) {
    if (const std::optional<Release> release = releases.of(package)) {
      source.keys.push_back({fmt::format("({})", releases.key), to_string(*release), KeyFate::used,
                             fmt::format("--{} {}", package, to_string(*release))});
      source.defaults.emplace_back(package, to_string(*release));
    }
  }
}

/// The condition that keeps a setting from being read; nullptr if there is none.
const ProgramCondition* unmet_condition(const Program& program, const SettingList& all,
                                        const Setting& setting) {
  const auto keeps = [&](const ProgramCondition& row) {
    const std::optional<std::string> value = all.text(row.with);
    return value && !is_same_key(*value, row.value) && matches_key(row.keys, setting.key);
  };
  const auto found = std::ranges::find_if(program.conditions, keeps);
  return found == program.conditions.end() ? nullptr : &*found;
}

/// The settings that the program reads; the others are listed.
SettingList read_settings(const Program& program, const SettingList& all, SourceKeys& unread) {
  if (program.conditions.empty()) {
    return all;
  }
  SettingList active;
  for (const Setting& setting : all.list()) {
    if (const ProgramCondition* const unmet = unmet_condition(program, all, setting)) {
      unread.add_no_effect(setting.key, setting.value,
                           fmt::format("read with {} {} only", unmet->with, unmet->value));
    } else {
      active.add(setting);
    }
  }
  return active;
}

PlanSource read_as(const Program& program, const SettingList& own, const FileReleases& releases,
                   const std::string& file) {
  SourceKeys unread;
  SettingList all =
      read_settings(program, with_defaults(program, own, releases.of(program.package)), unread);
  all.note_releases(releases);
  PlanSource source = read_by_rules(program, all, file);
  std::ranges::move(unread.finish().keys, std::back_inserter(source.keys));
  offer_releases(releases, source);
  return source;
}

/// The oldest release that began a default and that the file need not be of.
std::optional<Release> first_change(const Program& program, const SettingList& own,
                                    const FileReleases& releases) {
  std::optional<Release> first;
  const std::optional<Release> newest = releases.of(program.package);
  for (const ProgramDefault& row : program.defaults) {
    const bool is_between =
        newest && row.since && releases.oldest_of_program < *row.since && *row.since <= *newest;
    if (is_between && own.find(row.key) == nullptr && (!first || *row.since < *first)) {
      first = row.since;
    }
  }
  return first;
}

std::optional<EarlierReading> earlier_reading(const Program& program, const SettingList& own,
                                              FileReleases releases, const std::string& file) {
  const std::optional<Release> change = first_change(program, own, releases);
  if (!change) {
    return std::nullopt;
  }
  releases.newest.insert_or_assign(std::string(program.package),
                                   release_before(program.package, *change));
  PlanSource source = read_as(program, own, releases, file);
  return EarlierReading{fmt::format("{} before {}", program.package, to_string(*change)),
                        std::move(source.words), std::move(source.defaults)};
}

}  // namespace

PlanSource read_by_releases(const Program& program, const SettingList& own,
                            const std::string& file) {
  const FileReleases releases = program.dates.releases_of(own, program.package);
  PlanSource source = read_as(program, own, releases, file);
  if (releases.are_known()) {
    source.releases = describe(releases, program.package);
    source.earlier = earlier_reading(program, own, releases, file);
  }
  return source;
}

}  // namespace highwater
