// A count with its noun: "1 block", "2 blocks".
#pragma once

#include <concepts>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace highwater {

/// For nouns whose plural ends in s.
template <std::integral Count>
std::string plural(Count count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace highwater
