// Which releases a file was written for: some of its keys a release dropped (`until` in
// workloads/facts/programs), some a release brought (`since`).
//
// A file with a key that transformers dropped in 4.51 ran before that day, with the PyTorch and TRL
// of its time (workloads/facts/releases.json). The newest of them are taken.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "traces/release.hpp"
#include "workloads/json/json_field.hpp"
#include "workloads/sources/settings/file_releases.hpp"
#include "workloads/sources/settings/setting.hpp"

namespace highwater {

/// Keys of one release of a package. Texts belong to the facts.
struct DatedKeys {
  enum class Edge : std::uint8_t { since, until };

  std::string_view package;
  Release release;
  Edge edge = Edge::until;
  std::vector<std::string_view> keys;
};

class KeyDates {
 public:
  KeyDates() = default;

  /// Those of a program's file and of the files that it includes, unless it has keys of its own
  /// whatever is installed ("own_schema"). @throws InputError with the field that is wrong
  explicit KeyDates(const JsonField& file);

  /// What the keys of a file tell. `package` is the program's own.
  [[nodiscard]] FileReleases releases_of(const SettingList& settings,
                                         std::string_view package) const;

 private:
  void add_file(const JsonField& file);

  std::vector<DatedKeys> rows_;
};

/// "trl 0.16, transformers 4.50 and torch 2.6, the newest with evaluation_strategy"; `package` is
/// the program's own. @pre are_known()
std::string describe(const FileReleases& releases, std::string_view package);

/// The newest release of a package before `release`. @pre there is one
Release release_before(std::string_view package, Release release);

}  // namespace highwater
