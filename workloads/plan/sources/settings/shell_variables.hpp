// Words of a shell script in pieces, and the variables that fill them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace highwater {

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

class ShellVariables {
 public:
  void set(const std::string& name, const std::string& value, bool appends);

  void set_array(const std::string& name, std::vector<std::string> items, bool appends);

  /// "${NAME:=8}" in `word` sets NAME if nothing has.
  void set_unset(const ShellWord& word);

  /// The words that `word` becomes: what variables hold is split at spaces, arrays into their
  /// items.
  [[nodiscard]] std::vector<std::string> split(const ShellWord& word) const;

  /// The same as one text.
  [[nodiscard]] std::string joined(const ShellWord& word) const;

 private:
  /// The items of "$NAME" and its other forms; absent if the script does not set it.
  [[nodiscard]] std::optional<std::vector<std::string>> items_of(
      const std::string& reference) const;

  [[nodiscard]] std::string text_of(const std::string& text) const;

  std::map<std::string, std::vector<std::string>> values_;
};

}  // namespace highwater
