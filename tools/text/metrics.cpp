#include "tools/text/metrics.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/text/csv_field.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/overloaded.hpp"

namespace highwater {
namespace {

boost::json::value to_json_value(const MetricValue& value) {
  return std::visit(
      Overloaded{[](std::monostate) { return boost::json::value(nullptr); },
                 [](Bytes bytes) { return boost::json::value(bytes.count()); },
                 [](const std::string& text) { return boost::json::value(valid_utf8(text)); },
                 [](auto number) { return boost::json::value(number); }},
      value);
}

/// Cells hold names from files: call sites, unknown keys, settings.
TextTable safe_copy(TextTable table) {
  table.title = printable(table.title);
  for (auto& row : table.rows) {
    for (std::string& cell : row) {
      cell = printable(cell);
    }
  }
  return table;
}

std::vector<std::size_t> column_widths(const TextTable& table) {
  std::vector<std::size_t> widths;
  for (const std::string& column : table.columns) {
    widths.push_back(column.size());
  }
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], row[c].size());
    }
  }
  return widths;
}

bool is_right(const TextTable& table, std::size_t column) {
  return column < table.right_aligned.size() && table.right_aligned[column];
}

std::string aligned_row(const TextTable& table, const std::vector<std::string>& cells,
                        const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    line += is_right(table, c) ? fmt::format("  {:>{}}", cells[c], widths[c])
                               : fmt::format("  {:<{}}", cells[c], widths[c]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string csv_row(const std::vector<std::string>& cells) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    line += (c == 0 ? "" : ",") + csv_field(cells[c]);
  }
  return line + "\n";
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += " ";
    for (const char c : cell) {
      line += c == '|' ? "\\|" : std::string(1, c);
    }
    line += " |";
  }
  return line + "\n";
}

}  // namespace

boost::json::array words_json(const std::vector<std::string>& words) {
  boost::json::array array;
  for (const std::string& word : words) {
    array.emplace_back(valid_utf8(word));
  }
  return array;
}

std::string percent_text(double fraction) {
  constexpr double kMost = 9.999;
  return fraction > kMost ? "> +999 %" : fmt::format("{:+.1f} %", 100 * fraction);
}

std::string bytes_text(double bytes) {
  const std::string size = to_iec(Bytes{static_cast<std::uint64_t>(std::llround(std::abs(bytes)))});
  return bytes < 0 ? "-" + size : size;
}

std::string to_text(const MetricValue& value) {
  return std::visit(Overloaded{[](std::monostate) { return std::string("-"); },
                               [](Bytes bytes) { return to_iec(bytes); },
                               [](std::int64_t count) { return std::to_string(count); },
                               [](std::uint64_t count) { return std::to_string(count); },
                               [](double number) { return fmt::format("{:.4f}", number); },
                               [](bool yes) { return std::string(yes ? "yes" : "no"); },
                               [](const std::string& text) { return text; }},
                    value);
}

std::string to_exact_text(const MetricValue& value) {
  return std::visit(Overloaded{[](std::monostate) { return std::string(); },
                               [](Bytes bytes) { return std::to_string(bytes.count()); },
                               [](std::int64_t count) { return std::to_string(count); },
                               [](std::uint64_t count) { return std::to_string(count); },
                               [](double number) { return fmt::format("{}", number); },
                               [](bool yes) { return std::string(yes ? "true" : "false"); },
                               [](const std::string& text) { return text; }},
                    value);
}

boost::json::object to_json(const MetricList& list) {
  boost::json::object root;
  for (const Metric& metric : list.metrics) {
    boost::json::object* parent = &root;
    const std::string key = valid_utf8(metric.key);
    std::string_view rest = key;
    for (std::size_t dot = rest.find('.'); dot != std::string_view::npos; dot = rest.find('.')) {
      boost::json::value& child = (*parent)[rest.substr(0, dot)];
      parent = child.is_object() ? &child.as_object() : &child.emplace_object();
      rest.remove_prefix(dot + 1);
    }
    (*parent)[rest] = to_json_value(metric.value);
  }
  return root;
}

TextTable to_table(const MetricList& list) {
  TextTable table;
  table.title = list.title;
  table.columns = {"metric", "value"};
  table.right_aligned = {false, true};
  for (const Metric& metric : list.metrics) {
    if (!metric.label.empty()) {
      table.rows.push_back({metric.label, to_text(metric.value)});
    }
  }
  return table;
}

std::string format_aligned(const TextTable& unsafe) {
  const TextTable table = safe_copy(unsafe);
  const std::vector<std::size_t> widths = column_widths(table);
  std::string text = table.title.empty() ? "" : table.title + "\n";
  text += aligned_row(table, table.columns, widths);
  for (const auto& row : table.rows) {
    text += aligned_row(table, row, widths);
  }
  return text;
}

std::string format_markdown(const TextTable& unsafe) {
  const TextTable table = safe_copy(unsafe);
  std::string text = table.title.empty() ? "" : "### " + table.title + "\n\n";
  text += markdown_row(table.columns) + "|";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    text += is_right(table, c) ? " ---: |" : " --- |";
  }
  text += "\n";
  for (const auto& row : table.rows) {
    text += markdown_row(row);
  }
  return text;
}

std::string format_csv(const TextTable& unsafe) {
  const TextTable table = safe_copy(unsafe);
  std::string text = csv_row(table.columns);
  for (const auto& row : table.rows) {
    text += csv_row(row);
  }
  return text;
}

}  // namespace highwater
