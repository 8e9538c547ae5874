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
#include <vector>

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
};

/// Whether two keys are the same but for upper case and for '-' instead of '_'.
bool is_same_key(std::string_view a, std::string_view b);

/// The settings of one file, in its order.
class SettingList {
 public:
  void add(Setting setting) { list_.push_back(std::move(setting)); }

  [[nodiscard]] const std::vector<Setting>& list() const { return list_; }

  [[nodiscard]] std::vector<Setting>& list() { return list_; }

  /// The last one called `key`, as it wins; nullptr if there is none.
  [[nodiscard]] const Setting* find(std::string_view key) const;

  /// Absent for what is not there or null.
  [[nodiscard]] std::optional<std::string> text(std::string_view key) const;

  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view key) const;

  /// A flag that stands alone in a launch line is true.
  [[nodiscard]] bool is_on(std::string_view key) const;

 private:
  std::vector<Setting> list_;
};

}  // namespace highwater
