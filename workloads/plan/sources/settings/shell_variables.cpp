#include "workloads/plan/sources/settings/shell_variables.hpp"

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

/// Where the word at `begin` ends; a command whose output is not known, "$(...)", is part of it.
std::size_t end_of_word(const std::string& text, std::size_t begin) {
  int depth = 0;
  std::size_t at = begin;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    depth += c == '(' && at > 0 && text[at - 1] == '$' ? 1 : 0;
    depth += c == '(' && depth > 0 && text[at - 1] != '$' ? 1 : 0;
    depth -= c == ')' && depth > 0 ? 1 : 0;
    if (depth == 0 && std::isspace(static_cast<unsigned char>(c)) != 0) {
      break;
    }
  }
  return at;
}

Items words_of(const std::string& text) {
  Items words;
  std::size_t at = 0;
  while ((at = text.find_first_not_of(" \t\n\r", at)) != std::string::npos) {
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

/// A product, the only arithmetic that launch scripts are known to need (Megatron-LM
/// examples/gpt3: WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))); factors in words.
std::optional<std::int64_t> product_of(const Items& factors) {
  std::int64_t product = 1;
  for (const std::string& factor : factors) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(factor.data(), factor.data() + factor.size(), value);
    if (error != std::errc{} || end != factor.data() + factor.size() || value < 0 ||
        value > 1'000'000 || product > 1'000'000) {
      return std::nullopt;
    }
    product *= value;
  }
  return factors.empty() ? std::nullopt : std::optional(product);
}

Items factors_of(std::string text) {
  for (char& c : text) {
    c = c == '*' || c == '(' || c == ')' || c == '{' || c == '}' ? ' ' : c;
  }
  return words_of(text);
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

void ShellVariables::set(const std::string& name, const std::string& value, bool appends) {
  if (is_argument(value) && values_.contains(name)) {
    return;  // the script is read as it runs without arguments
  }
  Items& items = values_[name];
  const std::string before = appends ? fmt::format("{}", fmt::join(items, " ")) : "";
  items = {before + value};
}

void ShellVariables::set_array(const std::string& name, Items items, bool appends) {
  Items& all = values_[name];
  if (!appends) {
    all.clear();
  }
  all.insert(all.end(), items.begin(), items.end());
}

std::optional<Items> ShellVariables::items_of(const std::string& reference) const {
  if (reference.starts_with("$((")) {
    Items factors = factors_of(reference.substr(1));
    for (std::string& factor : factors) {
      const std::string name = factor.starts_with('$') ? factor.substr(1) : factor;
      const auto known = values_.find(name);
      factor = known == values_.end() ? factor : fmt::format("{}", fmt::join(known->second, " "));
    }
    const auto product = product_of(factors);
    return product ? std::optional(Items{std::to_string(*product)}) : std::nullopt;
  }
  if (is_own_folder(reference)) {
    return Items{"."};
  }
  const Parameter parameter = parameter_of(reference);
  const auto known = values_.find(parameter.name);
  const bool is_empty =
      known != values_.end() && fmt::format("{}", fmt::join(known->second, "")).empty();
  if (const auto fallback = fallback_of(parameter)) {
    const bool is_set = known != values_.end() && !(fallback->of_empty && is_empty);
    if (is_set == (fallback->kind == '+')) {
      return Items{text_of(fallback->text)};
    }
    return is_set ? std::optional(known->second) : std::optional(Items{});
  }
  if (known == values_.end()) {
    return std::nullopt;
  }
  const auto subscript = subscript_of(parameter);
  return subscript ? item_at(known->second, text_of(*subscript)) : std::optional(known->second);
}

/// What stands in braces is text with quotes and variables of its own: "${A:-"$B"}".
std::string ShellVariables::text_of(const std::string& text) const {
  std::string plain;
  std::ranges::copy_if(text, std::back_inserter(plain),
                       [](char c) { return c != '"' && c != '\''; });
  ShellWord word;
  word.add_in_double_quotes(plain);
  return joined(word);
}

void ShellVariables::set_unset(const ShellWord& word) {
  for (const ShellWord::Piece& piece : word.pieces()) {
    const Parameter parameter = parameter_of(piece.text);
    const auto fallback =
        piece.kind == ShellWord::Piece::Kind::text ? std::nullopt : fallback_of(parameter);
    if (fallback && fallback->kind == '=') {
      const auto items = items_of(piece.text);
      set(parameter.name, items ? fmt::format("{}", fmt::join(*items, " ")) : "", false);
    }
  }
}

std::string ShellVariables::joined(const ShellWord& word) const {
  std::string text;
  for (const ShellWord::Piece& piece : word.pieces()) {
    const auto items =
        piece.kind == ShellWord::Piece::Kind::text ? std::nullopt : items_of(piece.text);
    text += items ? fmt::format("{}", fmt::join(*items, " ")) : piece.text;
  }
  return text;
}

Items ShellVariables::split(const ShellWord& word) const {
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
