// The text of a message with places for sizes and numbers, compared without white space.
//
// Logs wrap, indent and frame the lines of a message. Patterns and logs are therefore compared as
// compact text: lower case, without white space and the characters that frame and quote. What a
// pattern looks like is described in workloads/facts/out_of_memory.json. A message is followed as
// far as it goes: one that was cut short, or that another line interrupts, has fewer figures, and
// never those of another message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/messages/printed_size.hpp"

namespace highwater {

/// The length of what a terminal obeys at the front of `text`: "ESC [ 31 m", also as JSON and
/// Python write it. 0 if there is nothing of the kind.
std::size_t terminal_sequence(std::string_view text);

/// Appends `text` in lower case without white space, frames, quoting and terminal sequences.
void append_compact(std::string_view text, std::string& compact);

/// What stands at a place of a message.
struct CapturedValue {
  std::string_view name;
  std::string text;                 ///< as people read it
  std::optional<PrintedSize> size;  ///< of places for sizes
};

struct MessageMatch {
  std::size_t length = 0;  ///< of the compact text
  bool is_whole = false;   ///< the pattern was followed to its end
  std::vector<CapturedValue> values;
};

class MessagePattern {
 public:
  /// `text` must outlive the pattern.
  explicit MessagePattern(std::string_view text);

  /// The compact text with which each message begins.
  [[nodiscard]] const std::string& anchor() const { return groups_.front().pieces.front().text; }

  /// Follows the message at the front of `compact`. A value counts once the text behind it has
  /// been found, the first one at once.
  [[nodiscard]] MessageMatch match(std::string_view compact) const;

 private:
  enum class PieceKind : std::uint8_t { literal, size, number, decimal };
  enum class GroupKind : std::uint8_t { once, optional, repeated };

  struct Piece {
    PieceKind kind = PieceKind::literal;
    std::string text;       ///< of a literal, compact
    std::string_view name;  ///< of a place
  };

  struct Group {
    GroupKind kind = GroupKind::once;
    std::vector<Piece> pieces;
  };

  static std::vector<Piece> pieces_of(std::string_view text);
  static Piece place_of(std::string_view text);
  static bool take(const Piece& piece, std::string_view& text, MessageMatch& match);
  static bool take_all(const Group& group, std::string_view& text, MessageMatch& match);
  static bool follow(const Group& group, std::string_view& text, MessageMatch& match);

  std::vector<Group> groups_;
};

}  // namespace highwater
