#include "workloads/sources/settings/shell_variables.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace highwater {
namespace {

using Items = std::vector<std::string>;

bool is_name(std::string_view text) {
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') {
      return false;
    }
  }
  return !text.empty();
}

constexpr std::string_view kBlanks = " \t\n\r\v\f";

/// Where the word at `begin` ends; a command whose output is not known, "$(...)", is part of it.
std::size_t end_of_word(const std::string& text, std::size_t begin) {
  int depth = 0;
  std::size_t at = begin;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    depth += c == '(' && at > 0 && text[at - 1] == '$' ? 1 : 0;
    depth += c == '(' && depth > 0 && text[at - 1] != '$' ? 1 : 0;
    depth -= c == ')' && depth > 0 ? 1 : 0;
    if (depth == 0 && kBlanks.find(c) != std::string_view::npos) {
      break;
    }
  }
  return at;
}

Items words_of(const std::string& text) {
  Items words;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(kBlanks, at)) != std::string::npos) {
    const std::size_t end = end_of_word(text, at);
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

/// "$1": what a script is started with.
bool is_argument(std::string_view value) {
  return value.size() == 2 && value[0] == '$' &&
         std::isdigit(static_cast<unsigned char>(value[1])) != 0;
}

/// An array without quotes around it: its items are split into words.
Items words_of_all(const Items& items) {
  Items all;
  for (const std::string& item : items) {
    const Items words = words_of(item);
    all.insert(all.end(), words.begin(), words.end());
  }
  return all;
}

/// What stands behind the name in "${NAME:-8}", "${NAME-8}", "${NAME[@]}", "${NAME}".
struct Parameter {
  std::string name;
  std::string rest;
};

Parameter parameter_of(const std::string& reference) {
  const bool is_braced = reference.starts_with("${") && reference.ends_with('}');
  const std::string inner = is_braced
                                ? reference.substr(2, reference.size() - 3)
                                : reference.substr(std::min<std::size_t>(1, reference.size()));
  std::size_t end = 0;
  while (end < inner.size() && is_name(inner.substr(end, 1))) {
    ++end;
  }
  return {inner.substr(0, end), inner.substr(end)};
}

/// "$(dirname "$0")", "$(cd $(dirname ${BASH_SOURCE[0]}) && pwd)": where the script lies; files
/// that it names are looked for there.
bool is_own_folder(const std::string& reference) {
  const bool is_command = reference.starts_with("$(") || reference.starts_with('`');
  return is_command && reference.find("dirname") != std::string::npos &&
         (reference.find("$0") != std::string::npos ||
          reference.find("BASH_SOURCE") != std::string::npos);
}

/// The forms of POSIX.1-2017, Shell Command Language, 2.6.2, that stand in launch scripts.
struct Fallback {
  char kind = '-';        ///< '-' and '=': of a variable that is not set; '+': of one that is
  bool of_empty = false;  ///< with ':': an empty variable is like one that is not set
  std::string text;
};

std::optional<Fallback> fallback_of(const Parameter& parameter) {
  const std::string& rest = parameter.rest;
  const std::size_t at = rest.starts_with(':') ? 1 : 0;
  if (parameter.name.empty() || at >= rest.size() ||
      std::string_view("-=+").find(rest[at]) == std::string_view::npos) {
    return std::nullopt;
  }
  return Fallback{rest[at], at > 0, rest.substr(at + 1)};
}

/// "[0]" and "[name]" of an array; absent for a whole one ("[@]") and for no array.
std::optional<std::string> subscript_of(const Parameter& parameter) {
  const std::string& rest = parameter.rest;
  const std::size_t end = rest.find(']');
  if (!rest.starts_with('[') || end == std::string::npos || rest[1] == '@' || rest[1] == '*') {
    return std::nullopt;
  }
  return rest.substr(1, end - 1);
}

/// The item at a number, or of an associative array ("[key]=value").
std::optional<Items> item_at(const Items& items, const std::string& subscript) {
  const std::string mark = fmt::format("[{}]=", subscript);
  for (const std::string& item : items) {
    if (item.starts_with(mark)) {
      return Items{item.substr(mark.size())};
    }
  }
  std::size_t number = 0;
  const auto [end, error] =
      std::from_chars(subscript.data(), subscript.data() + subscript.size(), number);
  const bool is_number = error == std::errc{} && end == subscript.data() + subscript.size();
  return is_number && number < items.size() ? std::optional(Items{items[number]}) : std::nullopt;
}

/// Behind what closes the bracket at `open`.
std::size_t after_closing(const std::string& text, std::size_t open) {
  const char closing = text[open] == '{' ? '}' : ')';
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += text[i] == text[open] ? 1 : text[i] == closing ? -1 : 0;
    if (depth == 0) {
      return i + 1;
    }
  }
  return text.size();
}

}  // namespace

void ShellWord::append_text(const std::string& text) {
  if (pieces_.empty() || pieces_.back().kind != Piece::Kind::text) {
    pieces_.push_back({Piece::Kind::text, {}});
  }
  pieces_.back().text += text;
}

void ShellWord::add_in_double_quotes(const std::string& text) {
  is_quoted_ = true;
  append_text("");
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '\\' && at + 1 < text.size()) {
      append_text(text[at + 1] == '\n' ? "" : text.substr(at + 1, 1));
      at += 2;
    } else if (text[at] == '$' && at + 1 < text.size()) {
      std::size_t end = at + 1;
      if (text[end] == '{' || text[end] == '(') {
        end = after_closing(text, end);
      } else {
        while (end < text.size() && is_name(text.substr(end, 1))) {
          ++end;
        }
      }
      pieces_.push_back({Piece::Kind::quoted_variable, text.substr(at, end - at)});
      at = end;
    } else {
      append_text(text.substr(at++, 1));
    }
  }
}

std::string ShellWord::written() const {
  std::string text;
  for (const Piece& piece : pieces_) {
    text += piece.text;
  }
  return text;
}

namespace {

std::size_t size_of(const Items& items) {
  std::size_t size = 0;
  for (const std::string& item : items) {
    size += item.size() + 1;
  }
  return size;
}

std::string all_of(const Items& items) {
  return fmt::format("{}", fmt::join(items, " "));
}

}  // namespace

void ShellVariables::check_size(const std::string& name, std::size_t size) const {
  if (size > kLargestVariable) {
    place_->fail(fmt::format("the variable {} becomes longer than {} MiB", name.substr(0, 60),
                             kLargestVariable >> 20U),
                 "give the launch line itself, in quotes, with what the variable should hold");
  }
}

void ShellVariables::count(std::size_t expanded) {
  expanded_ += expanded;
  if (expanded_ > kMostExpanded) {
    place_->fail(fmt::format("the variables of the script become more than {} MiB of text",
                             kMostExpanded >> 20U),
                 "give the launch line itself, in quotes, without the variables");
  }
}

/// What the script finds set becomes a variable of its own when it is looked at first.
const Items* ShellVariables::find(const std::string& name) {
  const auto own = values_.find(name);
  if (own != values_.end()) {
    return &own->second.items;
  }
  const auto outer = environment_->find(name);
  if (outer == environment_->end()) {
    return nullptr;
  }
  Variable& copied = values_[name];
  copied = {{outer->second}, outer->second.size()};
  return &copied.items;
}

void ShellVariables::set(const std::string& name, const std::string& value, Assignment how) {
  const bool appends = how == Assignment::appends;
  const Items* const known = find(name);
  if (is_argument(value) && known != nullptr) {
    return;  // the script is read as it runs without arguments
  }
  Variable& variable = values_[name];
  if (appends && variable.items.size() == 1) {
    variable.items.front() += value;  // a loop of a thousand lines appends to one text
  } else {
    variable.items = {(appends ? all_of(variable.items) : "") + value};
  }
  variable.size = variable.items.front().size();
  check_size(name, variable.size);
}

void ShellVariables::set_array(const std::string& name, Items items, Assignment how) {
  if (how == Assignment::appends) {
    static_cast<void>(find(name));
  }
  Variable& variable = values_[name];
  if (how == Assignment::replaces) {
    variable = {};
  }
  variable.size += size_of(items);
  check_size(name, variable.size);
  std::ranges::move(items, std::back_inserter(variable.items));
}

VariableText ShellVariables::numbers() {
  return [this](const std::string& name) -> std::optional<std::string> {
    const Items* const known = find(name);
    if (known == nullptr) {
      return std::nullopt;
    }
    count(size_of(*known));
    return all_of(*known);
  };
}

std::optional<std::int64_t> ShellVariables::value_of(const std::string& expression) {
  return arithmetic_value(text_of(expression), numbers());
}

bool ShellVariables::assign(const std::string& expression) {
  const auto assignment = arithmetic_assignment(text_of(expression), numbers());
  if (assignment) {
    set(assignment->name,
        assignment->value ? std::to_string(*assignment->value) : fmt::format("$(({}))", expression),
        Assignment::replaces);
  }
  return assignment.has_value();
}

/// "$((...))", "$(command)" and "`command`".
std::optional<Items> ShellVariables::computed(const std::string& reference) {
  const bool is_arithmetic = reference.starts_with("$((") && reference.ends_with("))");
  const std::size_t front = is_arithmetic ? 3 : reference.starts_with("$(") ? 2 : 1;
  const std::size_t back = is_arithmetic ? 2 : 1;
  if (reference.size() < front + back) {
    return std::nullopt;
  }
  const std::string inner = reference.substr(front, reference.size() - front - back);
  const auto value = is_arithmetic ? value_of(inner) : printed_number(text_of(inner));
  return value ? std::optional(Items{std::to_string(*value)}) : std::nullopt;
}

std::optional<Items> ShellVariables::items_of(const std::string& reference) {
  constexpr std::size_t kMostNested = 64;
  if (depth_ >= kMostNested) {
    place_->fail(fmt::format("variables nested more than {} deep", kMostNested),
                 "give the launch line itself, in quotes, without the variables");
  }
  ++depth_;
  const bool is_computed = reference.starts_with("$(") || reference.starts_with('`');
  std::optional<Items> items = is_own_folder(reference) ? std::optional(Items{"."})
                               : is_computed            ? computed(reference)
                                                        : items_of_parameter(reference);
  --depth_;
  if (items) {
    count(size_of(*items));
  }
  return items;
}

std::optional<Items> ShellVariables::items_of_parameter(const std::string& reference) {
  const Parameter parameter = parameter_of(reference);
  const Items* const known = find(parameter.name);
  if (const auto fallback = fallback_of(parameter)) {
    const bool is_empty = known != nullptr && std::ranges::all_of(*known, [](const auto& item) {
                            return item.empty();
                          });
    const bool is_set = known != nullptr && !(fallback->of_empty && is_empty);
    if (is_set == (fallback->kind == '+')) {
      return Items{text_of(fallback->text)};
    }
    return is_set ? std::optional(*known) : std::optional(Items{});
  }
  if (known == nullptr) {
    return std::nullopt;
  }
  const auto subscript = subscript_of(parameter);
  if (!subscript) {
    return *known;
  }
  const std::string place = text_of(*subscript);
  const Items& items = *find(parameter.name);  // text_of() may have moved it
  count(items.size());
  return item_at(items, place);
}

/// What stands in braces is text with quotes and variables of its own: "${A:-"$B"}".
std::string ShellVariables::text_of(const std::string& text) {
  std::string plain;
  std::ranges::copy_if(text, std::back_inserter(plain),
                       [](char c) { return c != '"' && c != '\''; });
  ShellWord word;
  word.add_in_double_quotes(plain);
  return joined(word);
}

void ShellVariables::set_unset(const ShellWord& word) {
  for (const ShellWord::Piece& piece : word.pieces()) {
    if (piece.kind == ShellWord::Piece::Kind::text) {
      continue;
    }
    const Parameter parameter = parameter_of(piece.text);
    const auto fallback = fallback_of(parameter);
    if (fallback && fallback->kind == '=') {
      const auto items = items_of(piece.text);
      set(parameter.name, items ? all_of(*items) : "", Assignment::replaces);
    }
  }
}

std::string ShellVariables::joined(const ShellWord& word) {
  std::string text;
  for (const ShellWord::Piece& piece : word.pieces()) {
    const auto items =
        piece.kind == ShellWord::Piece::Kind::text ? std::nullopt : items_of(piece.text);
    text += items ? all_of(*items) : piece.text;
  }
  return text;
}

Items ShellVariables::split(const ShellWord& word) {
  Items words = words_in(word);
  if (words.size() > 1) {
    count(words.size() * sizeof(std::string));  // a letter each, perhaps
  }
  return words;
}

Items ShellVariables::words_in(const ShellWord& word) {
  const auto& pieces = word.pieces();
  const bool is_array = pieces.size() == 1 && pieces[0].text.find("[@]") != std::string::npos;
  const bool is_quoted_array =
      is_array || (pieces.size() == 2 && word.is_quoted() && pieces[0].text.empty() &&
                   pieces[1].text.find("[@]") != std::string::npos);
  if (is_quoted_array) {
    const auto items = items_of(pieces.back().text);
    if (!items) {
      return {pieces.back().text};
    }
    return is_array && !word.is_quoted() ? words_of_all(*items) : *items;
  }
  const std::string text = joined(word);
  return word.is_quoted() || text == word.written() ? Items{text} : words_of(text);
}

}  // namespace highwater
