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
    R"(:root { --edge: light-dark(#1c2430, #f08c00); }
div.wide { overflow-x: auto; }
rect { stroke: var(--rule); stroke-width: 1; }
rect.off { stroke: var(--edge); stroke-width: 3; }
svg.small rect { stroke: none; }
svg.small rect.off { stroke: var(--edge); stroke-width: 2; }
rect.unread { fill: none; }
path { stroke: var(--ink); }
text { font: 10px system-ui, sans-serif; fill: #10161d; text-anchor: middle; }
text.plain { fill: var(--ink); }
text.line { fill: var(--ink); text-anchor: end; }
)";

/// How the cells of a map are laid out, in pixels.
struct CellGrid {
  std::size_t columns = 8;
  std::size_t width = 18;  ///< of what is coloured
  std::size_t height = 18;
  std::size_t gap = 4;
  std::size_t left = 2;     ///< before the first column
  bool is_labelled = true;  ///< cells have the numbers of their ranks; otherwise lines do

  [[nodiscard]] std::size_t x(std::size_t cell) const {
    return left + cell % columns * (width + gap);
  }

  [[nodiscard]] std::size_t y(std::size_t cell) const {
    return 2 + cell / columns * (height + gap);
  }
};

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

std::string rank_label(const ScanRow& row) {
  return row.rank ? std::to_string(*row.rank) : "";
}

/// Wide enough for the longest number: a digit of the page's 10 px takes at most 7, an edge 4.
std::size_t labelled_width(const Scan& scan) {
  std::size_t digits = 0;
  for (const ScanRow& row : scan.rows) {
    digits = std::max(digits, rank_label(row).size());
  }
  return 7 * digits + 4;
}

/// As square as the number of ranks and the width of a page allow, in columns of powers of two, as
/// nodes have ranks.
CellGrid grid_of(const Scan& scan) {
  constexpr std::size_t kMostLabelled = 4096;
  constexpr std::size_t kPage = 1216;
  CellGrid grid;
  if (scan.rows.size() <= kMostLabelled) {
    grid.width = std::max(grid.width, labelled_width(scan));
  } else {
    grid = {.width = 8, .height = 8, .gap = 1, .left = 48, .is_labelled = false};
  }
  while (grid.columns * grid.columns < scan.rows.size() &&
         2 * grid.columns * (grid.width + grid.gap) <= kPage) {
    grid.columns *= 2;
  }
  return grid;
}

/// The number of its rank in the middle of a cell.
std::string cell_label(const CellGrid& grid, std::size_t cell, const ScanRow& row,
                       std::string_view style) {
  return grid.is_labelled && row.rank
             ? fmt::format("<text{} x=\"{}\" y=\"{}\">{}</text>", style,
                           grid.x(cell) + grid.width / 2, grid.y(cell) + grid.height / 2 + 4,
                           rank_label(row))
             : "";
}

/// The number of its first rank beside every other line, which leaves room for the figures.
std::string line_label(const CellGrid& grid, std::size_t cell, const ScanRow& row) {
  return !grid.is_labelled && cell % (2 * grid.columns) == 0
             ? fmt::format("<text class=\"line\" x=\"{}\" y=\"{}\">{}</text>\n", grid.left - 6,
                           grid.y(cell) + grid.height, rank_label(row))
             : "";
}

std::string cell_rect(const CellGrid& grid, std::size_t cell, std::string_view style,
                      std::string_view fill) {
  return fmt::format("<rect{} x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}/>", style,
                     grid.x(cell), grid.y(cell), grid.width, grid.height, fill);
}

std::string unread_cell(const CellGrid& grid, std::size_t cell, const ScanRow& row) {
  return fmt::format("<g><title>{}: {}</title>{}<path d=\"M{} {}l{} {}\"/>{}</g>\n",
                     escaped(scan_row_name(row)), escaped(row.error),
                     cell_rect(grid, cell, " class=\"unread\"", ""), grid.x(cell), grid.y(cell),
                     grid.width, grid.height, cell_label(grid, cell, row, " class=\"plain\""));
}

std::string drawn_cell(const CellGrid& grid, std::size_t cell, const ScanRow& row,
                       const HeatMap& map, double share) {
  return fmt::format("<g><title>{}: {}</title>{}{}</g>\n", escaped(scan_row_name(row)),
                     bytes_text(map.figure(row)),
                     cell_rect(grid, cell, map.is_outlier(row) ? " class=\"off\"" : "",
                               fmt::format(" fill=\"{}\"", hue(share))),
                     cell_label(grid, cell, row, ""));
}

/// The text before the picture, and the picture's first line.
std::string map_head(const HeatMap& map, const CellGrid& grid, std::size_t cells, double middle,
                     double most) {
  return fmt::format(
      "<h2>{}</h2>\n<p>Median {}; the deepest colour is {} away from it, red above, blue "
      "below.</p>\n<div class=\"wide\"><svg{} role=\"img\" aria-label=\"{}\" width=\"{}\" "
      "height=\"{}\">\n",
      map.title, bytes_text(middle), bytes_text(most), grid.is_labelled ? "" : " class=\"small\"",
      map.title, grid.x(grid.columns - 1) + grid.width + 2, grid.y(cells - 1) + grid.height + 2);
}

std::string drawn_map(const Scan& scan, const HeatMap& map) {
  const double middle = middle_of(scan, map);
  const double most = widest(scan, map, middle);
  const CellGrid grid = grid_of(scan);
  std::string text = map_head(map, grid, scan.rows.size(), middle, most);
  for (std::size_t i = 0; i < scan.rows.size(); ++i) {
    const ScanRow& row = scan.rows[i];
    text += line_label(grid, i, row);
    text += row.is_error()
                ? unread_cell(grid, i, row)
                : drawn_cell(grid, i, row, map, most > 0 ? (map.figure(row) - middle) / most : 0);
  }
  return text + "</svg></div>\n";
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
      "<h2>What outliers hold more or less of</h2>\n<div "
      "class=\"wide\"><table>\n<tr><th>who</th><th>differs "
      "in</th><th>name</th><th>holds</th><th>the others</th><th>difference</th></tr>\n";
  return page + difference_rows(scan) + "</table></div>\n</body>\n</html>\n";
}

}  // namespace highwater
