#include "workloads/sources/settings/toml_bounds.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/sources/settings/settings_list.hpp"

namespace highwater::detail {
namespace {

/// Goes through the text by what TOML's grammar needs to tell keys and brackets from strings and
/// comments. Where the text is not TOML the parser stops, and what this reader makes of the rest
/// does not matter.
class TomlBounds {
 public:
  TomlBounds(std::string_view text, const std::string& file) : text_(text), file_(&file) {}

  void check() {
    while (at_ < text_.size()) {
      take(text_[at_]);
    }
  }

 private:
  void take(char c) {
    switch (c) {
      case '#':
        at_ = std::min(text_.find('\n', at_), text_.size());
        return;
      case '"':
      case '\'':
        skip_string(c);
        starts_line_ = false;
        return;
      case '\n':
        end_line();
        break;
      case '[':
      case '{':
        open(c);
        break;
      case ']':
      case '}':
        close();
        break;
      case ',':
        parts_ = 1;
        key_parts_ = 0;
        break;
      case '=':
        end_key();
        break;
      case '.':
        ++parts_;
        check_depth_at(base_ + parts_);
        break;
      default:
        break;
    }
    starts_line_ = c == '\n' || (starts_line_ && (c == ' ' || c == '\t' || c == '\r'));
    ++at_;
  }

  void end_line() {
    ++line_;
    if (is_header_) {
      base_ = parts_;
      is_header_ = false;
    }
    if (open_.empty()) {
      parts_ = 1;
      key_parts_ = 0;
    }
  }

  void end_key() {
    count(keys_);
    key_parts_ = std::exchange(parts_, 1);
  }

  /// "[a.b]" and "[[a.b]]" at the begin of a line are headers: the keys below go on theirs.
  void open(char c) {
    if (c == '[' && open_.empty() && starts_line_) {
      count(headers_);
      is_header_ = true;
      const bool is_of_list = at_ + 1 < text_.size() && text_[at_ + 1] == '[';
      base_ = 0;
      parts_ = is_of_list ? 2 : 1;  // the place in the list is one more
      at_ += is_of_list ? 1 : 0;
    } else if (!is_header_) {
      open_.push_back({base_, key_parts_});
      base_ += key_parts_ + (c == '[' ? 1 : 0);
      key_parts_ = 0;
      parts_ = 1;
      check_depth_at(base_);
    }
  }

  void close() {
    if (!open_.empty()) {
      base_ = open_.back().base;
      key_parts_ = open_.back().key_parts;
      open_.pop_back();
    }
  }

  void skip_string(char quote) {
    const std::string three(3, quote);
    if (text_.substr(at_).starts_with(three)) {
      at_ += 3;
      skip_lines(quote);
      return;
    }
    ++at_;
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      at_ += text_[at_] == '\\' && quote == '"' ? std::size_t{2} : std::size_t{1};
    }
    at_ += at_ < text_.size() && text_[at_] == quote ? 1U : 0U;
  }

  /// Up to three quotes in a row; one or two more before them are the string's own.
  void skip_lines(char quote) {
    std::size_t row = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c != quote && row >= 3) {
        return;
      }
      row = c == quote ? row + 1 : 0;
      if (row == 5) {
        ++at_;
        return;
      }
      line_ += c == '\n' ? 1U : 0U;
      if (c == '\\' && quote == '"' && at_ + 1 < text_.size()) {
        ++at_;
        line_ += text_[at_] == '\n' ? 1U : 0U;
      }
    }
  }

  void count(std::size_t& what) const { check_count(what++, *file_, where()); }

  void check_depth_at(std::size_t depth) const {
    // A list of plain values at the deepest place is one setting.
    if (depth > kDeepestSetting + (open_.empty() ? 0 : 1)) {
      throw InputError(
          *file_, where(),
          fmt::format("a key of more than {} parts, or values nested as deep", kDeepestSetting),
          "give the configuration of a training run");
    }
  }

  [[nodiscard]] std::string where() const { return fmt::format("line {}", line_); }

  struct Open {
    std::size_t base = 0;
    std::size_t key_parts = 0;
  };

  std::string_view text_;
  const std::string* file_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  bool starts_line_ = true;
  bool is_header_ = false;
  std::size_t base_ = 0;       ///< levels above the key or value that is read
  std::size_t parts_ = 1;      ///< of the key that is read
  std::size_t key_parts_ = 0;  ///< of the key whose value is read
  std::vector<Open> open_;     ///< lists and inline tables
  std::size_t keys_ = 0;
  std::size_t headers_ = 0;
};

}  // namespace

void check_toml_bounds(std::string_view text, const std::string& file) {
  TomlBounds(text, file).check();
}

}  // namespace highwater::detail
