// The rules of one program by key, read from its file of facts.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workloads/json/json_field.hpp"
#include "workloads/sources/rules/key_rule.hpp"
#include "workloads/sources/settings/key_pattern.hpp"

namespace highwater {

/// Names come before patterns, a file's own rows before those of the files that it includes, and of
/// the patterns of one file the one with most letters comes first.
class KeyTable {
 public:
  KeyTable() = default;

  /// The "keys" and "includes" of a file. @throws InputError with the field of a wrong row: one
  /// without a use, a key that stands twice, a reader that no table has
  KeyTable(const JsonField& file, const Readers& readers);

  /// The rule that decides about a key; nullptr if there is none.
  [[nodiscard]] const KeyRule* find(std::string_view key) const;

  /// All of them, the file's own first.
  [[nodiscard]] std::span<const KeyRule> rules() const { return rules_; }

 private:
  struct Pattern {
    KeyPattern pattern;
    std::size_t letters = 0;
    std::size_t rule = 0;
  };

  /// The rows of one file.
  struct Layer {
    std::unordered_map<std::string, std::size_t> names;
    std::vector<Pattern> patterns;  ///< most letters first
  };

  void add_file(const JsonField& file, const Readers& readers);
  static void add_key(const JsonField& key, std::size_t rule, Layer& layer);

  std::vector<KeyRule> rules_;
  std::vector<Layer> layers_;
};

/// The table of workloads/facts/programs/NAME.json.
KeyTable key_table(std::string_view name, const Readers& readers);

}  // namespace highwater
