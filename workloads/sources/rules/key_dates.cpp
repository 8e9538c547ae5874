#include "workloads/sources/rules/key_dates.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/facts/facts.hpp"
#include "workloads/sources/settings/key_pattern.hpp"

namespace highwater {
namespace {

/// "2025-04-05": as texts they are in order.
struct DatedRelease {
  Release release;
  std::string_view day;
};

struct PackageDates {
  std::string_view package;
  std::vector<DatedRelease> releases;  ///< oldest first
};

std::vector<PackageDates> read_dates() {
  std::vector<PackageDates> all;
  for (const JsonField& row : facts("releases.json").at("packages").elements()) {
    PackageDates package{row.at("package").view(), {}};
    for (const JsonField& pair : row.at("releases").elements()) {
      const std::vector<JsonField> texts = pair.elements();
      package.releases.push_back({release_of(texts.at(0).view()), texts.at(1).view()});
    }
    all.push_back(std::move(package));
  }
  return all;
}

const std::vector<PackageDates>& package_dates() {
  static const std::vector<PackageDates> kAll = read_dates();
  return kAll;
}

const std::vector<DatedRelease>& dates_of(std::string_view package) {
  static const std::vector<DatedRelease> kNone;
  const auto found = std::ranges::find(package_dates(), package, &PackageDates::package);
  return found == package_dates().end() ? kNone : found->releases;
}

/// The day on which the release after `last` came out; empty: there is none yet.
std::string_view end_of(std::string_view package, Release last) {
  const auto& dates = dates_of(package);
  const auto next =
      std::ranges::find_if(dates, [&](const DatedRelease& each) { return each.release > last; });
  return next == dates.end() ? std::string_view() : next->day;
}

std::string_view begin_of(std::string_view package, Release first) {
  const auto& dates = dates_of(package);
  const auto found = std::ranges::find(dates, first, &DatedRelease::release);
  return found == dates.end() ? std::string_view() : found->day;
}

/// The newest before `day`, or the oldest that is listed.
Release newest_before(const std::vector<DatedRelease>& dates, std::string_view day) {
  Release newest = dates.front().release;
  for (const DatedRelease& each : dates) {
    newest = each.day < day ? each.release : newest;
  }
  return newest;
}

/// A key of the file that one of the patterns matches; nullptr: none.
const Setting* key_like(const SettingList& settings, const std::vector<std::string_view>& keys) {
  const auto& list = settings.list();
  const auto found = std::ranges::find_if(list, [&](const Setting& setting) {
    return std::ranges::any_of(keys,
                               [&](std::string_view key) { return matches_key(key, setting.key); });
  });
  return found == list.end() ? nullptr : &*found;
}

/// The key that was dropped first, with the day.
struct Bound {
  const DatedKeys* row = nullptr;
  std::string key;
  std::string_view day;
};

Bound earliest_end(const std::vector<DatedKeys>& rows, const SettingList& settings) {
  Bound bound;
  for (const DatedKeys& row : rows) {
    const Setting* const setting =
        row.edge == DatedKeys::Edge::until ? key_like(settings, row.keys) : nullptr;
    if (setting == nullptr) {
      continue;
    }
    const std::string_view day = end_of(row.package, row.release);
    if (!day.empty() && (bound.row == nullptr || day < bound.day)) {
      bound = {&row, setting->key, day};
    }
  }
  return bound;
}

/// The latest day on which a release brought one of the file's keys.
std::string_view latest_begin(const std::vector<DatedKeys>& rows, const SettingList& settings) {
  std::string_view latest;
  for (const DatedKeys& row : rows) {
    if (row.edge == DatedKeys::Edge::since && key_like(settings, row.keys) != nullptr) {
      latest = std::max(latest, begin_of(row.package, row.release));
    }
  }
  return latest;
}

/// The first release of a package that came out on `day` or later.
Release first_from(const std::vector<DatedRelease>& dates, std::string_view day) {
  const auto found =
      std::ranges::find_if(dates, [&](const DatedRelease& each) { return each.day >= day; });
  return day.empty() || found == dates.end() ? Release{} : found->release;
}

}  // namespace

KeyDates::KeyDates(const JsonField& file) {
  if (!file.find("own_schema")) {
    add_file(file);
  }
}

void KeyDates::add_file(const JsonField& file) {
  constexpr std::array kEdges{std::pair{"since", DatedKeys::Edge::since},
                              std::pair{"until", DatedKeys::Edge::until}};
  const std::string_view package = file.view_or_empty("package");
  for (const auto& [name, edge] : kEdges) {
    if (const auto releases = file.find(name); releases && !package.empty()) {
      for (const auto& [release, keys] : releases->object()) {
        rows_.push_back({package, release_of(release), edge, releases->views(release)});
      }
    }
  }
  for (const std::string_view name : file.views("includes")) {
    add_file(facts(fmt::format("programs/{}.json", name)));
  }
}

FileReleases KeyDates::releases_of(const SettingList& settings, std::string_view package) const {
  const Bound bound = earliest_end(rows_, settings);
  const std::string_view begin = latest_begin(rows_, settings);
  if (bound.row == nullptr || begin >= bound.day) {  // keys that no release has together
    return {};
  }
  FileReleases releases{.key = bound.key, .package = std::string(bound.row->package)};
  for (const PackageDates& each : package_dates()) {
    releases.newest.emplace(each.package, newest_before(each.releases, bound.day));
  }
  releases.oldest_of_program = first_from(dates_of(package), begin);
  return releases;
}

std::string describe(const FileReleases& releases, std::string_view package) {
  std::vector<std::string> names;
  for (const std::string_view each :
       {package, std::string_view("transformers"), std::string_view("torch")}) {
    const std::optional<Release> release = releases.of(each);
    const std::string name = release ? fmt::format("{} {}", each, to_string(*release)) : "";
    if (release && std::ranges::find(names, name) == names.end()) {
      names.push_back(name);
    }
  }
  const std::string last = names.back();
  names.pop_back();
  return fmt::format("{} and {}, the newest with {}", fmt::join(names, ", "), last, releases.key);
}

Release release_before(std::string_view package, Release release) {
  Release before;
  for (const DatedRelease& each : dates_of(package)) {
    before = each.release < release ? each.release : before;
  }
  return before;
}

}  // namespace highwater
