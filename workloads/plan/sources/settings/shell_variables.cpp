#include "workloads/plan/sources/settings/shell_variables.hpp"

#include <cctype>
#include <charconv>
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

/// "${NAME:-"8"}" is 8.
std::string without_quotes(const std::string& text) {
  const bool is_quoted = text.size() > 1 && (text.front() == '"' || text.front() == '\'') &&
                         text.back() == text.front();
  return is_quoted ? text.substr(1, text.size() - 2) : text;
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
  const Parameter parameter = parameter_of(reference);
  const auto known = values_.find(parameter.name);
  if (known != values_.end()) {
    return known->second;
  }
  const std::size_t fallback = parameter.rest.find('-');
  return !parameter.name.empty() && fallback != std::string::npos && fallback <= 1
             ? std::optional(Items{without_quotes(parameter.rest.substr(fallback + 1))})
             : std::nullopt;
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
