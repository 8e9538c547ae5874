// The words that lines of a text trace start with.
#pragma once

#include <cstdint>
#include <string_view>

namespace highwater {

/// Header lines first, then events, then definitions: readers rely on this order.
enum class Keyword : std::uint8_t {
  conf,
  device,
  fraction,
  addr,
  torch,
  a,
  f,
  r,
  e,
  all,
  c,
  p,
  pool_begin,
  pool_end,
  pool_retire,
  pool_release,
  setconf,
  limit,
  step,
  phase,
  op,
  frame,
  stack,
};

/// In the place of the bytes of a limit.
inline constexpr std::string_view kNoLimitWord = "none";

struct KeywordRow {
  std::string_view word;
  Keyword keyword;
  std::string_view usage;  ///< the form of the whole line, for messages
};

/// Null when no line starts with `word`.
const KeywordRow* find_keyword(std::string_view word);

}  // namespace highwater
