#include "tools/studies/gate/peak_words.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/text/site_label.hpp"
#include "traces/event.hpp"

namespace highwater {
namespace {

constexpr std::size_t kMostNamed = 3;

/// What has less than a twentieth of the whole is not named.
constexpr std::int64_t kSmallestPart = 20;

/// "(free whole segments)" -> "free whole segments".
std::string spoken(const PeakRow& row) {
  if (row.name == kNoSite) {
    return "blocks without a call stack";
  }
  return row.is_remainder ? row.name.substr(1, row.name.size() - 2) : row.name;
}

/// Whether the rows tell blocks apart. Without stacks, a recording has a single site; without a
/// plan, a single category.
bool tells_apart(const PeakRows& rows) {
  return std::ranges::any_of(rows, [](const PeakRow& row) {
    return !row.is_remainder && row.name != kNoSite && row.name != to_string(Category::unknown);
  });
}

const PeakRows& telling_rows(const PeakChange& change) {
  return tells_apart(change.sites)        ? change.sites
         : tells_apart(change.categories) ? change.categories
                                          : change.sites;
}

/// The rows that changed in the direction of `total`, the largest first.
PeakRows largest(PeakRows rows, std::int64_t total) {
  std::erase_if(rows, [&](const PeakRow& row) {
    const bool is_other_way = (row.change() > 0) != (total > 0);
    return is_other_way || std::abs(row.change()) < std::abs(total) / kSmallestPart;
  });
  std::ranges::stable_sort(rows, std::ranges::greater{},
                           [](const PeakRow& row) { return std::abs(row.change()); });
  rows.resize(std::min(rows.size(), kMostNamed));
  return rows;
}

template <class Amount>
std::string listed_rows(const PeakRows& rows, Amount amount) {
  std::vector<std::string> parts;
  for (const PeakRow& row : rows) {
    parts.push_back(fmt::format("{} {}", spoken(row), amount(row.change())));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

std::string holders_words(const NamedPeak& peak) {
  const PeakChange all = change_of_peak(NamedPeak{}, peak);
  const PeakRows rows = largest(telling_rows(all), all.total.change());
  return rows.empty() ? "" : "most is held by " + listed_rows(rows, [](std::int64_t bytes) {
                               return to_iec(Bytes{static_cast<std::uint64_t>(bytes)});
                             });
}

std::string growth_words(const PeakChange& change) {
  const std::int64_t total = change.total.change();
  const PeakRows rows = largest(telling_rows(change), total);
  return total == 0 || rows.empty()
             ? ""
             : fmt::format(
                   "{} most: {}", total > 0 ? "grew" : "shrank",
                   listed_rows(rows, [](std::int64_t bytes) { return to_iec_signed(bytes); }));
}

}  // namespace highwater
