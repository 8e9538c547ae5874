// Words of a shell script in pieces, and the variables that fill them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workloads/sources/settings/shell_arithmetic.hpp"
#include "workloads/sources/settings/shell_place.hpp"
#include "workloads/sources/settings/shell_script.hpp"

namespace highwater {

/// NAME=value or NAME+=value.
enum class Assignment : std::uint8_t { replaces, appends };

/// A word before variables are replaced.
class ShellWord {
 public:
  struct Piece {
    enum class Kind { text, variable, quoted_variable } kind = Kind::text;
    std::string text;
  };

  void add_plain(char c) { append_text(std::string(1, c)); }

  void add_quoted(const std::string& text) {
    append_text(text);
    is_quoted_ = true;
  }

  /// Variables in it are replaced and never split.
  void add_in_double_quotes(const std::string& text);

  void add_variable(std::string reference) {
    pieces_.push_back({Piece::Kind::variable, std::move(reference)});
  }

  [[nodiscard]] const std::vector<Piece>& pieces() const { return pieces_; }

  /// Even an empty one is a word.
  [[nodiscard]] bool is_quoted() const { return is_quoted_; }

  /// As the script has it, without quotes.
  [[nodiscard]] std::string written() const;

 private:
  void append_text(const std::string& text);

  std::vector<Piece> pieces_;
  bool is_quoted_ = false;
};

/// The variables of a script, on top of those that it finds set.
///
/// A variable of a few lines that double it outgrows any machine. Linux starts no program with a
/// longer argument than 128 KiB, or with 2 MiB of them (execve(2), ARG_MAX), so no launch script
/// has a use for one.
class ShellVariables {
 public:
  /// Of one variable; an array's items together.
  static constexpr std::size_t kLargestVariable = std::size_t{1} << 20;
  /// What all the references of a script become.
  static constexpr std::size_t kMostExpanded = std::size_t{32} << 20;

  /// Both must outlive the variables. `expanded`: what scripts around this one have taken of
  /// kMostExpanded.
  ShellVariables(const ShellPlace& place, const ShellEnvironment& environment, std::size_t expanded)
      : place_(&place), environment_(&environment), expanded_(expanded) {}

  /// @throws InputError if the variable gets too large
  void set(const std::string& name, const std::string& value, Assignment how);

  /// @throws InputError if the array gets too large
  void set_array(const std::string& name, std::vector<std::string> items, Assignment how);

  /// "${NAME:=8}" in `word` sets NAME if nothing has.
  void set_unset(const ShellWord& word);

  /// The words that `word` becomes: what variables hold is split at spaces, arrays into their
  /// items. @throws InputError if the script's words become too long
  [[nodiscard]] std::vector<std::string> split(const ShellWord& word);

  /// The same as one text.
  [[nodiscard]] std::string joined(const ShellWord& word);

  /// Of "((expression))"; absent if it is not known.
  [[nodiscard]] std::optional<std::int64_t> value_of(const std::string& expression);

  /// Carries out "N = A * B" of "((...))" and of let. A value that is not known stays as it is
  /// written. False if the expression assigns nothing.
  bool assign(const std::string& expression);

  [[nodiscard]] std::size_t expanded() const { return expanded_; }

 private:
  using Items = std::vector<std::string>;

  struct Variable {
    Items items;
    std::size_t size = 0;  ///< of all items
  };

  /// nullptr if neither the script nor what it finds sets it.
  const Items* find(const std::string& name);

  /// The items of "$NAME" and its other forms; absent if the script does not set it.
  [[nodiscard]] std::optional<Items> items_of(const std::string& reference);

  [[nodiscard]] std::optional<Items> items_of_parameter(const std::string& reference);

  [[nodiscard]] std::optional<Items> computed(const std::string& reference);

  [[nodiscard]] VariableText numbers();

  [[nodiscard]] std::string text_of(const std::string& text);

  [[nodiscard]] Items words_in(const ShellWord& word);

  void check_size(const std::string& name, std::size_t size) const;

  /// Counts what a reference became. @throws InputError if that is too much
  void count(std::size_t expanded);

  const ShellPlace* place_;
  const ShellEnvironment* environment_;
  std::unordered_map<std::string, Variable> values_;
  std::size_t expanded_;
  std::size_t depth_ = 0;  ///< of references inside of references
};

}  // namespace highwater
