#include "tools/options/kept_property_option.hpp"

#include <array>
#include <string>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "traces/parse_text.hpp"
#include "traces/units.hpp"

namespace highwater {
namespace {

constexpr std::string_view kAtLeast = ">=";

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw UsageError(fmt::format("--keep {}: {}", text, why));
}

KeptPeak parse_peak(std::string_view text, std::string_view value) {
  const std::optional<Bytes> size = parse_bytes(value);
  if (!size || *size == Bytes{}) {
    refuse(text, "not a size; use 'peak>=20GiB', for example");
  }
  return {*size};
}

KeptFragmentation parse_fragmentation(std::string_view text, std::string_view value) {
  const bool is_percentage = value.ends_with('%');
  const auto number = parse_number<double>(value.substr(0, value.size() - (is_percentage ? 1 : 0)));
  const double share = number.value_or(-1) / (is_percentage ? 100 : 1);
  if (!(share > 0 && share < 1)) {
    refuse(text, "not a share of the memory; use 'fragmentation>=0.3' or 'fragmentation>=30%'");
  }
  return {share};
}

}  // namespace

WantedProperty parse_wanted_property(std::string_view text) {
  const std::size_t sign = text.find(kAtLeast);
  const std::string_view name = text.substr(0, sign);
  if (name == "oom" && sign == std::string_view::npos) {
    return WantedFailure{};
  }
  if (name != "peak" && name != "fragmentation") {
    refuse(text, "unknown; use oom, 'peak>=SIZE' or 'fragmentation>=SHARE'");
  }
  if (sign == std::string_view::npos) {
    refuse(text, fmt::format("it needs a value, in quotes since > redirects output in a shell: "
                             "--keep '{}>={}'",
                             name, name == "peak" ? "20GiB" : "30%"));
  }
  const std::string_view value = text.substr(sign + kAtLeast.size());
  return name == "peak" ? WantedProperty{parse_peak(text, value)}
                        : WantedProperty{parse_fragmentation(text, value)};
}

}  // namespace highwater
