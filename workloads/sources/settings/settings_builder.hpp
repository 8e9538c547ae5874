// Nested values as they are read, made into the flat list of settings.
//
// Every format's reader tells of its mappings, lists and values in the order of the file; the
// limits hold while it reads, so no file takes more memory than the settings that are allowed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workloads/sources/settings/setting.hpp"

namespace highwater::detail {

/// What a mapping without entries is: a setting "{}", or nothing ("[section]" of TOML).
enum class EmptyMapping : std::uint8_t { setting, nothing };

class SettingsBuilder {
 public:
  /// `file` must outlive the builder.
  explicit SettingsBuilder(const std::string& file, EmptyMapping empty = EmptyMapping::setting)
      : file_(&file), empty_(empty) {}

  void begin_mapping(std::size_t line);

  /// In a mapping, before its value. @throws InputError if it is nested too deep or too long
  void key(std::string_view name, std::size_t line);

  /// The same for a value whose keys are those of the mapping itself ("<<" of YAML).
  void merged_key(std::size_t line);

  void end_mapping();

  void begin_list(std::size_t line);
  void end_list();

  /// A value without its key.
  void value(Setting setting);

  /// Settings in the order of their lines, where the reader has another.
  void sort_by_line();

  /// @pre every mapping and list has ended
  SettingList finish();

 private:
  /// Settings of one key: [begin, end).
  struct Stretch {
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  struct Level {
    bool is_mapping = false;
    std::size_t line = 0;
    std::size_t key_size = 0;  ///< of its own key in key_
    std::size_t entries = 0;
    std::vector<Setting> items = {};  ///< of a list, as long as it has plain values only
    bool is_flat = true;
    std::unordered_map<std::string, Stretch> keys = {};  ///< of a mapping
    Stretch* last = nullptr;                             ///< of the key that came last
  };

  void begin_entry(std::size_t line);
  void extend_key(const Level& level, std::string_view part, std::size_t line);
  void replace(const Stretch& stretch);
  void end_last_key(Level& level);
  void make_entries(Level& list);
  void add(Setting setting);

  const std::string* file_;
  EmptyMapping empty_;
  std::string key_;
  std::vector<Level> levels_;
  std::vector<Setting> settings_;
  std::size_t items_ = 0;
  std::optional<RepeatedKey> repeated_;
};

}  // namespace highwater::detail
