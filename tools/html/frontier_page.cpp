#include "tools/html/frontier_page.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "tools/html/plain_page.hpp"
#include "tools/reports/solving/solve_report.hpp"
#include "tools/text/cell.hpp"

namespace highwater {
namespace {

constexpr std::string_view kFrontierStyle =
    R"(:root { --mark: light-dark(#0b62c4, #6db1ff); --bound: light-dark(#b3261e, #ff8a80); }
text { font: 12px system-ui, sans-serif; fill: var(--ink); }
line, polyline { stroke: var(--rule); fill: none; }
polyline { stroke: var(--mark); stroke-width: 2; }
line.bound { stroke: var(--bound); stroke-width: 2; stroke-dasharray: 6 4; }
circle { stroke: var(--mark); stroke-width: 2; fill: none; }
circle.best { fill: var(--mark); }
path { stroke: var(--bound); stroke-width: 2; }
)";

constexpr double kWide = 900;
constexpr double kHigh = 500;
constexpr double kLeft = 70;
constexpr double kRight = 130;  ///< room for the labels of the last points
constexpr double kTop = 30;
constexpr double kBottom = 50;
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr double kLetter = 7;  ///< of a label, roughly
constexpr double kLine = 14;

/// The values that an axis shows.
struct FrontierAxis {
  double least = 0;
  double most = 1;
  double step = 1;
};

/// About six steps of 1, 2 or 5 times a power of ten.
FrontierAxis axis_over(double least, double most) {
  const double rough = std::max(most - least, 1e-9) / 6;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double digit = rough / power;
  const double step = power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
  return {std::floor(least / step) * step, std::ceil(most / step) * step, step};
}

double gib(Bytes bytes) {
  return static_cast<double>(bytes.count()) / kGiB;
}

/// A label's box.
struct LabelBox {
  double x = 0;
  double y = 0;
  double width = 0;

  [[nodiscard]] bool meets(const LabelBox& other) const {
    return x < other.x + other.width && other.x < x + width && std::abs(y - other.y) < kLine;
  }
};

class FrontierPicture {
 public:
  explicit FrontierPicture(const Frontier& frontier) : frontier_(&frontier) {
    double left = 0;
    double right = 0;
    double high = frontier.available ? gib(*frontier.available) : 0;
    double low = high > 0 ? high : HUGE_VAL;
    for (const FrontierRow& row : frontier.rows) {
      left = std::min(left, 100 * row.time);
      right = std::max(right, 100 * row.time);
      low = std::min(low, gib(row.peak));
      high = std::max(high, gib(row.peak));
    }
    time_ = axis_over(left, std::max(right, left + 1));
    memory_ = axis_over(low, std::max(high, low * 1.01));
  }

  [[nodiscard]] std::string drawn() const {
    return fmt::format(
               "<svg role=\"img\" aria-label=\"Peak reserved memory against time\" "
               "viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\">\n",
               kWide, kHigh) +
           axes() + bound() + efficient_line() + points() + labels() + "</svg>\n";
  }

 private:
  [[nodiscard]] double x_of(double percent) const {
    return kLeft + (percent - time_.least) / (time_.most - time_.least) * (kWide - kLeft - kRight);
  }

  [[nodiscard]] double y_of(double memory) const {
    return kHigh - kBottom -
           (memory - memory_.least) / (memory_.most - memory_.least) * (kHigh - kTop - kBottom);
  }

  [[nodiscard]] double x_of(const FrontierRow& row) const { return x_of(100 * row.time); }

  [[nodiscard]] double y_of(const FrontierRow& row) const { return y_of(gib(row.peak)); }

  static std::string rule(double x1, double y1, double x2, double y2, std::string_view kind = {}) {
    return fmt::format("<line{} x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind,
                       x1, y1, x2, y2);
  }

  static std::string words(double x, double y, std::string_view anchor, std::string_view text) {
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
                       anchor, escaped(text));
  }

  [[nodiscard]] std::string axes() const {
    std::string text;
    for (int i = 0; time_.least + i * time_.step <= time_.most + time_.step / 2; ++i) {
      const double value = time_.least + i * time_.step;
      text += rule(x_of(value), kTop, x_of(value), kHigh - kBottom) +
              words(x_of(value), kHigh - kBottom + 18, "middle", fmt::format("{:+.4g} %", value));
    }
    for (int i = 0; memory_.least + i * memory_.step <= memory_.most + memory_.step / 2; ++i) {
      const double value = memory_.least + i * memory_.step;
      text += rule(kLeft, y_of(value), kWide - kRight, y_of(value)) +
              words(kLeft - 8, y_of(value) + 4, "end", fmt::format("{:.4g}", value));
    }
    return text + words(kLeft, kTop - 12, "start", "peak reserved, GiB") +
           words(kWide - kRight, kHigh - kBottom + 38, "end",
                 "time per sequence, by the model of a step");
  }

  [[nodiscard]] std::string bound() const {
    if (!frontier_->available) {
      return "";
    }
    const double y = y_of(gib(*frontier_->available));
    return rule(kLeft, y, kWide - kRight, y, " class=\"bound\"") +
           words(kWide - kRight + 6, y + 4, "start", "memory there is");
  }

  /// From one point that nothing beats to the next, in steps: between them lies no plan.
  [[nodiscard]] std::string efficient_line() const {
    std::string places;
    double y = 0;
    for (const FrontierRow& row : frontier_->rows) {
      if (row.is_efficient) {
        places += places.empty() ? "" : fmt::format("{:.1f},{:.1f} ", x_of(row), y);
        y = y_of(row);
        places += fmt::format("{:.1f},{:.1f} ", x_of(row), y);
      }
    }
    return fmt::format("<polyline points=\"{}\"/>\n", places);
  }

  [[nodiscard]] std::string name_of(const FrontierRow& row) const {
    return frontier_->axes == FrontierAxes::checkpoint
               ? row.checkpoint
               : fmt::format("{}, batch {}", row.checkpoint, row.batch);
  }

  [[nodiscard]] std::string mark_of(const FrontierRow& row) const {
    if (!row.fits) {
      return fmt::format("<path d=\"M{:.1f} {:.1f}l8 8m-8 0l8 -8\"/>", x_of(row) - 4,
                         y_of(row) - 4);
    }
    return fmt::format("<circle{} cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>",
                       row.is_efficient ? " class=\"best\"" : "", x_of(row), y_of(row));
  }

  [[nodiscard]] std::string points() const {
    std::string text;
    for (const FrontierRow& row : frontier_->rows) {
      text +=
          fmt::format("<g><title>{}: {}, {}</title>{}</g>\n", escaped(name_of(row)),
                      to_iec(row.peak), to_text(signed_percent_cell(row.time, 1)), mark_of(row));
    }
    return text;
  }

  /// The place beside a point where the label meets no other; none where all do.
  [[nodiscard]] std::optional<LabelBox> free_place(const FrontierRow& row, double width,
                                                   const std::vector<LabelBox>& taken) const {
    const std::array places{LabelBox{x_of(row) + 8, y_of(row) - 6, width},
                            LabelBox{x_of(row) + 8, y_of(row) + 14, width},
                            LabelBox{x_of(row) - 8 - width, y_of(row) + 14, width},
                            LabelBox{x_of(row) - 8 - width, y_of(row) - 6, width},
                            LabelBox{x_of(row) - width / 2, y_of(row) - 11, width},
                            LabelBox{x_of(row) - width / 2, y_of(row) + 19, width}};
    for (const LabelBox& place : places) {
      const bool is_inside =
          place.x > kLeft && place.x + width < kWide && place.y < kHigh - kBottom && place.y > kTop;
      if (is_inside &&
          std::ranges::none_of(taken, [&](const LabelBox& each) { return each.meets(place); })) {
        return place;
      }
    }
    return std::nullopt;
  }

  /// Points on the frontier are labelled first. A point without room for a label has its name in
  /// its title.
  [[nodiscard]] std::string labels() const {
    std::string text;
    std::vector<LabelBox> taken;
    for (const FrontierRow& row : frontier_->rows) {
      taken.push_back({x_of(row) - 5, y_of(row) + 4, 10});  // the marks themselves
    }
    for (const bool is_efficient : {true, false}) {
      for (const FrontierRow& row : frontier_->rows) {
        const std::string name = name_of(row);
        const auto place = row.is_efficient == is_efficient
                               ? free_place(row, kLetter * static_cast<double>(name.size()), taken)
                               : std::nullopt;
        if (place) {
          taken.push_back(*place);
          text += words(place->x, place->y, "start", name);
        }
      }
    }
    return text;
  }

  const Frontier* frontier_;
  FrontierAxis time_;
  FrontierAxis memory_;
};

std::string page_table(const Table& table) {
  std::string text = "<table>\n<tr>";
  for (const TableHead& head : table.heads) {
    text += fmt::format("<th>{}</th>", escaped(head.label));
  }
  text += "</tr>\n";
  for (const auto& row : table.rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += fmt::format("<td{}>{}</td>",
                          table.heads[i].align == Align::right ? " class=\"number\"" : "",
                          escaped(to_text(row[i])));
    }
    text += "</tr>\n";
  }
  return text + "</table>\n";
}

}  // namespace

std::string frontier_page(const Frontier& frontier, std::string_view plan) {
  return plain_page_start("Highwater: memory against recomputation", kFrontierStyle) +
         fmt::format(
             "<h1>Memory against recomputation</h1>\n<p>{}</p>\n<p>Each point is a plan that was "
             "simulated. A disc on the line: no other plan that fits takes less memory and no more "
             "time. A ring: another does. A cross: it does not fit, and stands at what it needs. "
             "Time is a model, against batch {} without recomputation.</p>\n",
             escaped(plan), frontier.batch) +
         FrontierPicture(frontier).drawn() +
         page_table(tabulate("", frontier_columns(), frontier.rows)) + "</body>\n</html>\n";
}

}  // namespace highwater
