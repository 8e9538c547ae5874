#include "tools/messages/message_pattern.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace highwater {
namespace {

/// What a character means for compact text.
enum class CharacterClass : std::uint8_t { kept, dropped, begins_frame };

constexpr std::array<CharacterClass, 256> character_classes() {
  std::array<CharacterClass, 256> classes{};
  for (const char c : {' ', '\t', '\r', '\n', '\v', '\f', '|', '#', '>', '*', '`'}) {
    classes[static_cast<unsigned char>(c)] = CharacterClass::dropped;
  }
  for (const char c : {'\\', '\x1b', '\xc2', '\xe2'}) {
    classes[static_cast<unsigned char>(c)] = CharacterClass::begins_frame;
  }
  return classes;
}

/// The length of what stands for white space or frames at the front of `text`, beside single
/// characters: box drawing (U+2500 to U+257F), a space that does not break, line ends in strings.
std::size_t frame(std::string_view text) {
  if (const std::size_t sequence = terminal_sequence(text)) {
    return sequence;
  }
  if (text.starts_with("\xe2\x94") || text.starts_with("\xe2\x95")) {
    return std::min<std::size_t>(text.size(), 3);
  }
  if (text.starts_with("\xc2\xa0")) {
    return 2;
  }
  if (text.front() == '\\') {
    return text.size() > 1 && std::string_view("nrt").find(text[1]) != std::string_view::npos ? 2
                                                                                              : 1;
  }
  return text.front() == '\x1b' ? 1 : 0;
}

std::size_t dropped(std::string_view text) {
  static constexpr auto kClasses = character_classes();
  switch (kClasses[static_cast<unsigned char>(text.front())]) {
    case CharacterClass::kept:
      return 0;
    case CharacterClass::dropped:
      return 1;
    case CharacterClass::begins_frame:
      return frame(text);
  }
  return 0;
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

std::size_t terminal_sequence(std::string_view text) {
  for (const std::string_view begin : {"\x1b[", "\\x1b[", "\\u001b[", "\\033["}) {
    if (text.starts_with(begin)) {
      const std::size_t end = text.find_first_not_of("0123456789;?", begin.size());
      return end == std::string_view::npos ? text.size() : end + 1;
    }
  }
  return 0;
}

void append_compact(std::string_view text, std::string& compact) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t skip = dropped(text.substr(at));
    if (skip == 0) {
      compact += lower(text[at]);
    }
    at += std::max<std::size_t>(skip, 1);
  }
}

MessagePattern::MessagePattern(std::string_view text) {
  while (!text.empty()) {
    const bool is_group = text.front() == '[';
    const std::size_t end = is_group ? text.find(']') : std::min(text.find('['), text.size());
    Group group{is_group ? GroupKind::optional : GroupKind::once,
                pieces_of(text.substr(is_group ? 1 : 0, end - (is_group ? 1 : 0)))};
    text.remove_prefix(end + (is_group ? 1 : 0));
    if (is_group && text.starts_with('*')) {
      group.kind = GroupKind::repeated;
      text.remove_prefix(1);
    }
    groups_.push_back(std::move(group));
  }
}

std::vector<MessagePattern::Piece> MessagePattern::pieces_of(std::string_view text) {
  std::vector<Piece> pieces;
  while (!text.empty()) {
    const bool is_place = text.front() == '{';
    const std::size_t end = is_place ? text.find('}') + 1 : std::min(text.find('{'), text.size());
    Piece piece;
    if (is_place) {
      piece = place_of(text.substr(1, end - 2));
    } else {
      append_compact(text.substr(0, end), piece.text);
    }
    text.remove_prefix(end);
    if (is_place || !piece.text.empty()) {
      pieces.push_back(std::move(piece));
    }
  }
  return pieces;
}

MessagePattern::Piece MessagePattern::place_of(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind =
      colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  const PieceKind of = kind.empty()        ? PieceKind::size
                       : kind == "decimal" ? PieceKind::decimal
                                           : PieceKind::number;
  return {of, {}, text.substr(0, colon)};
}

bool MessagePattern::take(const Piece& piece, std::string_view& text, MessageMatch& match) {
  if (piece.kind == PieceKind::literal) {
    if (!text.starts_with(piece.text)) {
      return false;
    }
    text.remove_prefix(piece.text.size());
    return true;
  }
  if (piece.kind == PieceKind::size) {
    const auto size = take_printed_size(text);
    if (size) {
      match.values.push_back({piece.name, size->text, size});
    }
    return size.has_value();
  }
  std::string_view rest = text;
  const std::string_view number = take_decimal(rest);
  const bool is_integer = number.find('.') == std::string_view::npos;
  if (number.empty() || (piece.kind == PieceKind::number && !is_integer)) {
    return false;
  }
  match.values.push_back({piece.name, std::string(number), std::nullopt});
  text = rest;
  return true;
}

bool MessagePattern::take_all(const Group& group, std::string_view& text, MessageMatch& match) {
  std::string_view rest = text;
  const std::size_t values = match.values.size();
  for (const Piece& piece : group.pieces) {
    if (!take(piece, rest, match)) {
      match.values.erase(match.values.begin() + std::ptrdiff_t(values), match.values.end());
      return false;
    }
  }
  text = rest;
  return true;
}

/// As far as it goes: false if it does not go to the end of the group.
bool MessagePattern::follow(const Group& group, std::string_view& text, MessageMatch& match) {
  std::size_t sure = match.values.size();
  for (const Piece& piece : group.pieces) {
    if (!take(piece, text, match)) {
      sure = std::max<std::size_t>(sure, std::min<std::size_t>(match.values.size(), 1));
      match.values.erase(match.values.begin() + std::ptrdiff_t(sure), match.values.end());
      return false;
    }
    if (piece.kind == PieceKind::literal) {
      sure = match.values.size();
    }
  }
  return true;
}

MessageMatch MessagePattern::match(std::string_view compact) const {
  MessageMatch result;
  std::string_view rest = compact;
  result.is_whole = std::ranges::all_of(groups_, [&](const Group& group) {
    if (group.kind == GroupKind::once) {
      return follow(group, rest, result);
    }
    while (take_all(group, rest, result) && group.kind == GroupKind::repeated) {
    }
    return true;
  });
  result.length = compact.size() - rest.size();
  return result;
}

}  // namespace highwater
