#include "tools/messages/printed_size.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "traces/parse_text.hpp"

namespace highwater {
namespace {

struct PrintedUnit {
  std::string_view compact;
  std::string_view shown;
  double bytes;
};

/// GB of MPS are powers of 1024, too (format_size in aten/src/ATen/mps/MPSAllocator.mm). Longer
/// names come before those that begin them.
constexpr std::array kPrintedUnits{
    PrintedUnit{"gib", "GiB", 1073741824.0}, PrintedUnit{"mib", "MiB", 1048576.0},
    PrintedUnit{"kib", "KiB", 1024.0},       PrintedUnit{"bytes", "bytes", 1.0},
    PrintedUnit{"gb", "GB", 1073741824.0},   PrintedUnit{"mb", "MB", 1048576.0},
    PrintedUnit{"kb", "KB", 1024.0}};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t decimals_of(std::string_view number) {
  const std::size_t point = number.find('.');
  return point == std::string_view::npos ? 0 : number.size() - point - 1;
}

/// Whole bytes are exact.
double half_of(std::string_view number, const PrintedUnit& unit) {
  return unit.bytes == 1.0 ? 0.0 : unit.bytes * std::pow(10.0, -double(decimals_of(number))) / 2.0;
}

}  // namespace

SizeRange least(SizeRange a, SizeRange b) {
  return {std::min(a.low, b.low), std::min(a.high, b.high)};
}

std::string_view take_decimal(std::string_view& text) {
  std::size_t end = 0;
  bool has_point = false;
  while (end < text.size() && (is_digit(text[end]) || (text[end] == '.' && !has_point))) {
    has_point = has_point || text[end] == '.';
    ++end;
  }
  if (end > 0 && text[end - 1] == '.') {
    --end;  // of a sentence
  }
  const std::string_view number = text.substr(0, end);
  text.remove_prefix(end);
  return number;
}

std::optional<PrintedSize> take_printed_size(std::string_view& text) {
  constexpr double kMost = 1e18;
  std::string_view rest = text;
  const std::string_view number = take_decimal(rest);
  const auto value = parse_number<double>(number);
  const auto unit = std::ranges::find_if(
      kPrintedUnits, [&](const PrintedUnit& each) { return rest.starts_with(each.compact); });
  if (!value || unit == kPrintedUnits.end() || *value * unit->bytes > kMost) {
    return std::nullopt;
  }
  text = rest.substr(unit->compact.size());
  return PrintedSize{std::llround(*value * unit->bytes),
                     std::int64_t(std::ceil(half_of(number, *unit))),
                     fmt::format("{} {}", number, unit->shown)};
}

}  // namespace highwater
