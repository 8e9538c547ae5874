// What a configuration file or a launch line says, as a flat list: a key with its path, its value
// as it is written, and the line.
//
// YAML, TOML, JSON and command lines become the same list, so a program's rules (../programs) are
// written once for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "workloads/sources/settings/file_releases.hpp"

namespace highwater {

/// What kind of value a file has.
enum class SettingKind : std::uint8_t { null, boolean, number, text, list };

struct Setting {
  std::string key;    ///< "training.seq_len"; of a launch line without the dashes in front
  std::string value;  ///< as a file has it; of a list its items with commas between
  SettingKind kind = SettingKind::text;
  std::vector<std::string> items = {};  ///< of a list
  std::size_t line = 0;                 ///< from 1; 0: unknown
  bool is_default = false;              ///< the program's own, in no file
  bool is_replaced = false;  ///< under a key that the same mapping has again further down
};

/// A key that stands twice in one mapping. The last one counts; some programs refuse the file.
struct RepeatedKey {
  std::string key;       ///< with its path
  std::size_t line = 0;  ///< of the second one, from 1; 0: unknown
};

/// `key` in lower case and with '_' for '-': equal for keys that are the same.
std::string common_key(std::string_view key);

/// Whether two keys are the same but for upper case and for '-' instead of '_'.
bool is_same_key(std::string_view a, std::string_view b);

/// The settings of one file, in its order. Keys are looked up in time that does not grow with the
/// file.
class SettingList {
 public:
  void add(Setting setting);

  [[nodiscard]] const std::vector<Setting>& list() const { return list_; }

  /// The setting at `at` keeps its key.
  void replace_value(std::size_t at, std::string value, SettingKind kind);

  /// The last one called `key`, as it wins; nullptr if there is none.
  [[nodiscard]] const Setting* find(std::string_view key) const;

  /// The first whose key matches `pattern` ('*' stands for any characters) and that is not null;
  /// nullptr if there is none.
  [[nodiscard]] const Setting* first_like(std::string_view pattern) const;

  /// Whether any key matches `pattern`, null or not.
  [[nodiscard]] bool has_like(std::string_view pattern) const;

  /// Absent for what is not there or null.
  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;

  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view key) const;

  /// A flag that stands alone in a launch line is true.
  [[nodiscard]] bool is_on(std::string_view key) const;

  /// The first of the file.
  [[nodiscard]] const std::optional<RepeatedKey>& repeated_key() const { return repeated_key_; }

  void note_repeated(std::optional<RepeatedKey> key) { repeated_key_ = std::move(key); }

  /// Those that the file was written for, once its program is known.
  [[nodiscard]] const FileReleases& releases() const { return releases_; }

  void note_releases(FileReleases releases) { releases_ = std::move(releases); }

 private:
  [[nodiscard]] std::size_t place_like(std::string_view pattern) const;

  std::vector<Setting> list_;
  std::unordered_map<std::string, std::vector<std::size_t>> places_;  ///< by common_key()
  /// Answers of first_like(): readers ask for each of their keys anew.
  mutable std::unordered_map<std::string, std::size_t> found_like_;
  std::optional<RepeatedKey> repeated_key_;
  FileReleases releases_;
};

}  // namespace highwater
