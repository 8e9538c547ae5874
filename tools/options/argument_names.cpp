#include "tools/options/argument_names.hpp"

#include <algorithm>
#include <cctype>
#include <optional>

#include <fmt/format.h>

#include "tools/text/usage_errors.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

/// "--name=value" or "--name".
struct Argument {
  std::string name;  ///< without dashes in front, dashes inside
  std::optional<std::string> value;

  [[nodiscard]] std::string text() const {
    return "--" + name + (value ? "=" + *value : std::string());
  }
};

Argument taken_apart(const std::string& text) {
  const std::size_t equals = text.find('=');
  Argument argument{text.substr(2, equals == std::string::npos ? equals : equals - 2), {}};
  std::ranges::replace(argument.name, '_', '-');
  if (equals != std::string::npos) {
    argument.value = text.substr(equals + 1);
  }
  return argument;
}

std::optional<bool> truth_of(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text == "true"    ? std::optional(true)
         : text == "false" ? std::optional(false)
                           : std::nullopt;
}

class Translator {
 public:
  Translator(const std::vector<std::string>& arguments, const std::vector<std::string>& names,
             const ArgumentAliases& aliases)
      : arguments_(&arguments), names_(&names), aliases_(&aliases) {}

  std::vector<std::string> run() {
    for (; at_ < arguments_->size() && (*arguments_)[at_] != "--"; ++at_) {
      translate((*arguments_)[at_]);
    }
    own_.insert(own_.end(), arguments_->begin() + static_cast<std::ptrdiff_t>(at_),
                arguments_->end());
    return std::move(own_);
  }

 private:
  void translate(const std::string& text) {
    if (!text.starts_with("--")) {
      own_.push_back(text);
      return;
    }
    const Argument argument = taken_apart(text);
    const auto alias = aliases_->find(argument.name);
    if (alias != aliases_->end()) {
      add_meaning(argument, alias->second);
    } else {
      refuse_second(argument.name, argument.name);
      own_.push_back(std::ranges::count(*names_, argument.name) != 0 ? argument.text() : text);
    }
  }

  /// Two names of one option; the option's own name twice is left to the parser.
  void refuse_second(const std::string& option, const std::string& name) {
    const auto [first, is_new] = given_.emplace(option, name);
    if (!is_new && first->second != name) {
      throw UsageError(
          fmt::format("--{} and --{} both set --{}; use one of them", first->second, name, option));
    }
  }

  /// A flag that is off says nothing.
  void add_meaning(const Argument& argument, const ArgumentMeaning& meaning) {
    const bool is_flag = !meaning.value.empty();
    if (is_flag && !is_on(argument)) {
      return;
    }
    refuse_second(meaning.option, argument.name);
    own_.push_back(
        Argument{meaning.option, is_flag ? std::optional(meaning.value) : argument.value}.text());
  }

  bool is_on(const Argument& flag) {
    if (flag.value) {
      const std::optional<bool> truth = truth_of(*flag.value);
      if (!truth) {
        throw UsageError(fmt::format("--{} {}: use true or false", flag.name, *flag.value));
      }
      return *truth;
    }
    const bool has_next = at_ + 1 < arguments_->size();
    const std::optional<bool> next = has_next ? truth_of((*arguments_)[at_ + 1]) : std::nullopt;
    at_ += next ? std::size_t{1} : std::size_t{0};
    return next.value_or(true);
  }

  const std::vector<std::string>* arguments_;
  const std::vector<std::string>* names_;
  const ArgumentAliases* aliases_;
  std::size_t at_ = 0;
  std::map<std::string, std::string> given_;  ///< option, and by which name
  std::vector<std::string> own_;
};

}  // namespace

std::vector<std::string> in_own_names(const std::vector<std::string>& arguments,
                                      const std::vector<std::string>& names,
                                      const ArgumentAliases& aliases) {
  return Translator(arguments, names, aliases).run();
}

}  // namespace highwater
