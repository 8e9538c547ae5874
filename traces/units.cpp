#include "traces/units.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace highwater {
namespace {

struct Suffix {
  std::string_view name;
  double factor;
};

constexpr std::array<Suffix, 20> kSuffixes{{
    {"", 1.0},
    {"b", 1.0},
    {"k", 1024.0},
    {"kib", 1024.0},
    {"m", 1048576.0},
    {"mib", 1048576.0},
    {"g", 1073741824.0},
    {"gib", 1073741824.0},
    {"t", 1099511627776.0},
    {"tib", 1099511627776.0},
    {"p", 1125899906842624.0},
    {"pib", 1125899906842624.0},
    {"e", 1152921504606846976.0},
    {"eib", 1152921504606846976.0},
    {"kb", 1e3},
    {"mb", 1e6},
    {"gb", 1e9},
    {"tb", 1e12},
    {"pb", 1e15},
    {"eb", 1e18},
}};

std::optional<double> factor_of(std::string_view suffix) {
  std::string lower;
  for (const char c : suffix) {
    if (c != ' ') {
      lower.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
    }
  }
  for (const Suffix& s : kSuffixes) {
    if (s.name == lower) {
      return s.factor;
    }
  }
  return std::nullopt;
}

}  // namespace

void detail::fail_arithmetic(const char* what) {
  std::fprintf(stderr, "highwater: internal error: %s\n", what);
  std::abort();
}

std::optional<Bytes> parse_bytes(std::string_view text) {
  const char* const end = text.data() + text.size();
  std::uint64_t whole = 0;
  const auto integer = std::from_chars(text.data(), end, whole);
  if (integer.ec == std::errc{} && integer.ptr == end) {
    return Bytes{whole};  // plain bytes stay exact above 2^53
  }
  double number = 0;
  const auto parsed = std::from_chars(text.data(), end, number, std::chars_format::fixed);
  if (parsed.ec != std::errc{} || number < 0) {
    return std::nullopt;
  }
  const auto factor = factor_of({parsed.ptr, static_cast<std::size_t>(end - parsed.ptr)});
  constexpr double kTooLarge = 18446744073709551616.0;  // 2^64
  if (!factor || !(number * *factor < kTooLarge)) {
    return std::nullopt;
  }
  return Bytes{static_cast<std::uint64_t>(std::round(number * *factor))};
}

std::string to_iec(Bytes size) {
  constexpr std::array<const char*, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (size.count() < 1024) {
    return fmt::format("{} B", size.count());
  }
  double value = static_cast<double>(size.count()) / 1024.0;
  std::size_t unit = 0;
  while (value >= 1023.995 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.2f} {}", value, kUnits.at(unit));
}

std::string to_iec_signed(std::int64_t difference) {
  const auto magnitude = difference < 0 ? 0 - static_cast<std::uint64_t>(difference)
                                        : static_cast<std::uint64_t>(difference);
  return (difference < 0 ? "-" : "+") + to_iec(Bytes{magnitude});
}

}  // namespace highwater
