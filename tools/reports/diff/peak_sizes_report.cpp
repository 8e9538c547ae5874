#include "tools/reports/diff/peak_sizes_report.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "sim/peak/peak_change.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/table.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

constexpr std::size_t kSitesShown = 2;

json::array sites_json(const std::vector<SiteBlocks>& sites) {
  json::array list;
  for (const SiteBlocks& site : sites) {
    list.push_back({{"site", valid_utf8(site.site)}, {"blocks", site.blocks}});
  }
  return list;
}

const Columns<PeakSize>& peak_size_columns() {
  using enum Align;
  static const Columns<PeakSize> kColumns{
      {"", "each", right, &PeakSize::bytes},
      {"", "blocks -", right, &PeakSize::first},
      {"", "blocks +", right, &PeakSize::second},
      {"", "change", right,
       [](const PeakSize& row) {
         return row.change() == 0 ? std::string("=") : to_iec_signed(row.change());
       }},
      {"", "only -", left, [](const PeakSize& row) { return sites_text(row.only_first); }},
      {"", "only +", left, [](const PeakSize& row) { return sites_text(row.only_second); }}};
  return kColumns;
}

}  // namespace

std::string sites_text(const std::vector<SiteBlocks>& sites) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kSitesShown, sites.size()); ++i) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", sites[i].blocks, sites[i].site);
  }
  return text +
         (sites.size() > kSitesShown ? fmt::format(", {} more", sites.size() - kSitesShown) : "");
}

std::string peak_sizes_text(const PeakSizes& sizes, std::size_t top) {
  const std::string totals =
      fmt::format("\nMost requested at once {} -> {}", to_iec(sizes.first), to_iec(sizes.second));
  if (sizes.rows.empty()) {
    return totals + ": the same blocks by size\n";
  }
  const std::size_t shown = std::min(top, sizes.rows.size());
  const std::vector<PeakSize> rows(sizes.rows.begin(),
                                   sizes.rows.begin() + static_cast<std::ptrdiff_t>(shown));
  std::string text = format_aligned(
      tabulate("Blocks alive at one of the two peaks of requested bytes, by size and call site",
               peak_size_columns(), rows));
  if (shown < sizes.rows.size()) {
    text += fmt::format("  ... {} more sizes (--top)\n", sizes.rows.size() - shown);
  }
  return totals + "\n" + text;
}

json::object peak_sizes_json(const PeakSizes& sizes) {
  json::array rows;
  for (const PeakSize& row : sizes.rows) {
    rows.push_back({{"bytes", row.bytes.count()},
                    {"first_blocks", row.first},
                    {"second_blocks", row.second},
                    {"change_bytes", row.change()},
                    {"only_first", sites_json(row.only_first)},
                    {"only_second", sites_json(row.only_second)}});
  }
  return {{"first_bytes", sizes.first.count()},
          {"second_bytes", sizes.second.count()},
          {"sizes", std::move(rows)}};
}

}  // namespace highwater
