#include "traces/formats/text/text_escape.hpp"

#include <array>
#include <cstddef>

namespace highwater {
namespace {

struct Escape {
  char character;
  char letter;
};

constexpr std::array<Escape, 5> kEscapes{
    {{'\\', '\\'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}, {' ', 's'}}};

void append_escaped(std::string& out, char c, TextPlace place) {
  for (const Escape& escape : kEscapes) {
    if (c == escape.character && (c != ' ' || place == TextPlace::word)) {
      out += '\\';
      out += escape.letter;
      return;
    }
  }
  out += c;
}

/// Appends what `\letter` stands for; false if it is not an escape.
bool append_unescaped(std::string& out, char letter) {
  for (const Escape& escape : kEscapes) {
    if (letter == escape.letter) {
      out += escape.character;
      return true;
    }
  }
  return letter == 'e';
}

}  // namespace

std::string escaped(std::string_view text, TextPlace place) {
  if (text.empty() && place == TextPlace::word) {
    return "\\e";
  }
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    append_escaped(out, c, place);
  }
  return out;
}

std::string unescaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool may_be_escape = text[i] == '\\' && i + 1 < text.size();
    if (may_be_escape && append_unescaped(out, text[i + 1])) {
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace highwater
