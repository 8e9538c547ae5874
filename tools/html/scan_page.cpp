#include "tools/html/scan_page.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tools/html/plain_page.hpp"
#include "tools/text/cell.hpp"

namespace highwater {
namespace {

constexpr std::string_view kScanStyle =
    R"(rect { stroke: var(--rule); stroke-width: 1; }
rect.off { stroke: var(--ink); stroke-width: 3; }
rect.unread { fill: none; }
path { stroke: var(--ink); }
text { font: 10px system-ui, sans-serif; fill: #10161d; text-anchor: middle; }
)";

constexpr std::size_t kSide = 22;   ///< of a cell with the gap to the next one, in pixels
constexpr std::size_t kInner = 18;  ///< of what is coloured

/// A figure of every row that is drawn as a map.
struct HeatMap {
  std::string_view title;
  std::function<double(const ScanRow&)> figure;
  std::function<bool(const ScanRow&)> is_outlier;
};

std::string scan_row_name(const ScanRow& row) {
  return row.rank ? fmt::format("rank {}", *row.rank) : row.file;
}

double middle_of(const Scan& scan, const HeatMap& map) {
  std::vector<double> values;
  for (const ScanRow& row : scan.rows) {
    if (!row.is_error()) {
      values.push_back(map.figure(row));
    }
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return values.empty() ? 0 : *middle;
}

double widest(const Scan& scan, const HeatMap& map, double middle) {
  double most = 0;
  for (const ScanRow& row : scan.rows) {
    most = std::max(most, row.is_error() ? 0 : std::abs(map.figure(row) - middle));
  }
  return most;
}

/// From -1, blue, over light grey to 1, red.
std::string hue(double share) {
  constexpr double kGrey = 235;
  constexpr double kDepth = 175;
  const auto level = [&](double down) {
    return static_cast<int>(std::lround(kGrey - kDepth * std::max(0.0, down)));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", level(-share), level(std::abs(share)), level(share));
}

/// As square as the number of ranks allows, in columns of powers of two, as nodes have ranks.
std::size_t columns_for(std::size_t cells) {
  std::size_t columns = 8;
  while (columns < 128 && columns * columns < cells) {
    columns *= 2;
  }
  return columns;
}

std::string unread_cell(std::size_t x, std::size_t y, const ScanRow& row) {
  return fmt::format(
      "<g><title>{}: {}</title><rect class=\"unread\" x=\"{}\" y=\"{}\" width=\"{}\" "
      "height=\"{}\"/><path d=\"M{} {}l{} {}\"/></g>\n",
      escaped(scan_row_name(row)), escaped(row.error), x, y, kInner, kInner, x, y, kInner, kInner);
}

std::string drawn_cell(std::size_t x, std::size_t y, const ScanRow& row, const HeatMap& map,
                       double share) {
  const std::string label = row.rank ? std::to_string(*row.rank) : "";
  return fmt::format(
      "<g><title>{}: {}</title><rect{} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" "
      "fill=\"{}\"/>{}</g>\n",
      escaped(scan_row_name(row)), bytes_text(map.figure(row)),
      map.is_outlier(row) ? " class=\"off\"" : "", x, y, kInner, kInner, hue(share),
      label.size() > 4 ? ""
                       : fmt::format("<text x=\"{}\" y=\"{}\">{}</text>", x + kInner / 2,
                                     y + kInner / 2 + 4, label));
}

std::string drawn_map(const Scan& scan, const HeatMap& map) {
  const double middle = middle_of(scan, map);
  const double most = widest(scan, map, middle);
  const std::size_t columns = columns_for(scan.rows.size());
  const std::size_t lines = (scan.rows.size() + columns - 1) / columns;
  std::string text = fmt::format(
      "<h2>{}</h2>\n<p>Median {}; the deepest colour is {} away from it, red above, blue "
      "below.</p>\n<svg role=\"img\" aria-label=\"{}\" width=\"{}\" height=\"{}\">\n",
      map.title, bytes_text(middle), bytes_text(most), map.title, columns * kSide + 4,
      lines * kSide + 4);
  for (std::size_t i = 0; i < scan.rows.size(); ++i) {
    const ScanRow& row = scan.rows[i];
    const std::size_t x = i % columns * kSide + 2;
    const std::size_t y = i / columns * kSide + 2;
    text += row.is_error()
                ? unread_cell(x, y, row)
                : drawn_cell(x, y, row, map, most > 0 ? (map.figure(row) - middle) / most : 0);
  }
  return text + "</svg>\n";
}

std::string difference_rows(const Scan& scan) {
  std::string text;
  for (const RankDifference& each : scan.differences) {
    const auto change = static_cast<std::int64_t>(each.bytes.count()) -
                        static_cast<std::int64_t>(each.usual.count());
    text += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{}"
        "</td><td class=\"number\">{}</td></tr>\n",
        escaped(scan_row_name(scan.rows[each.row])), to_string(each.by),
        escaped(scan.names[each.name]), to_iec(each.bytes), to_iec(each.usual),
        size_change_text(change));
  }
  return text;
}

std::vector<HeatMap> heat_maps() {
  return {{"Peak reserved",
           [](const ScanRow& row) { return static_cast<double>(row.peak.reserved.count()); },
           &ScanRow::is_reserved_outlier},
          {"Peak allocated",
           [](const ScanRow& row) { return static_cast<double>(row.peak.allocated.count()); },
           &ScanRow::is_allocated_outlier},
          {"Growth from step to step", [](const ScanRow& row) { return row.growth.live.per_step; },
           &ScanRow::is_growth_outlier}};
}

}  // namespace

std::string scan_page(const Scan& scan) {
  std::string page = plain_page_start("Highwater: memory over ranks", kScanStyle);
  page += fmt::format(
      "<h1>Memory over ranks</h1>\n<p>{} rows, {} unreadable. A cell is a rank; a "
      "thick edge marks an outlier.</p>\n",
      scan.rows.size(), scan.errors());
  for (const HeatMap& map : heat_maps()) {
    page += drawn_map(scan, map);
  }
  page +=
      "<h2>What outliers hold more or less of</h2>\n<table>\n<tr><th>who</th><th>differs "
      "in</th><th>name</th><th>holds</th><th>the others</th><th>difference</th></tr>\n";
  return page + difference_rows(scan) + "</table>\n</body>\n</html>\n";
}

}  // namespace highwater
