// Reads single options of a plan and says what is wrong with them; and the shapes in which --help
// shows them.
//
// Reading never stops at the first mistake: what is wrong is appended to one list, and the member
// keeps its default.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/options/command_line.hpp"
#include "tools/options/plan_words.hpp"
#include "tools/text/parse_text.hpp"

namespace highwater {

template <class Value, std::size_t N>
std::vector<std::string> list_of(const std::array<Word<Value>, N>& words) {
  std::vector<std::string> list;
  for (const Word<Value>& word : words) {
    list.emplace_back(word.word);
  }
  return list;
}

/// "; did you mean X?" or the list of what there is.
std::string remedy(std::string_view word, const std::vector<std::string>& known);

/// Reads options into members; what is wrong goes to a list and leaves the member as it was.
class PlanReader {
 public:
  PlanReader(const boost::program_options::variables_map& values,
             std::vector<std::string>& problems)
      : values_(&values), problems_(&problems) {}

  [[nodiscard]] std::optional<std::string> text(const std::string& option) const {
    return text_option(*values_, option);
  }

  void complain(const std::string& option, std::string_view value, std::string_view what);

  template <class Value, std::size_t N>
  void word(const std::string& option, const std::array<Word<Value>, N>& words, Value& target) {
    if (const auto given = text(option)) {
      const auto found = std::ranges::find(words, *given, &Word<Value>::word);
      if (found == words.end()) {
        complain(option, *given, "unknown; " + remedy(*given, list_of(words)));
      } else {
        target = found->value;
      }
    }
  }

  /// A whole number of at least `least` and not above `most`.
  template <class Number>
  std::optional<Number> integer(const std::string& option, std::string_view given,
                                std::int64_t least, std::int64_t most) {
    const auto number = parse_number<std::int64_t>(given);
    if (!number) {
      complain(option, given, "not a whole number");
    } else if (*number < least || *number > most) {
      complain(option, given, fmt::format("give a number from {} to {}", least, most));
    } else {
      return static_cast<Number>(*number);
    }
    return std::nullopt;
  }

  template <class Number>
  void count(const std::string& option, Number& target, std::int64_t least, std::int64_t most) {
    if (const auto given = text(option)) {
      target = integer<Number>(option, *given, least, most).value_or(target);
    }
  }

  std::optional<double> real(const std::string& option, double least, double most,
                             std::string_view range);

 private:
  const boost::program_options::variables_map* values_;
  std::vector<std::string>* problems_;
};

/// All words of an axis, for --help.
template <class Value, std::size_t N>
std::string choices(const std::array<Word<Value>, N>& words, std::string_view more = "") {
  return fmt::format("{}{}", fmt::join(list_of(words), ", "), more);
}

/// An option whose value --help calls `name`.
inline boost::program_options::typed_value<std::string>* text_value(const char* name) {
  return boost::program_options::value<std::string>()->value_name(name);
}

/// An option that means true when it stands alone.
inline boost::program_options::typed_value<std::string>* flag_value() {
  return boost::program_options::value<std::string>()
      ->implicit_value("true", "")
      ->value_name("[=BOOL]");
}

}  // namespace highwater
