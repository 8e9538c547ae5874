// Tables of reports: a column is declared once, and every format follows from it.
//
//     const Columns<ScanRow> columns{
//         {"file", "file", Align::left, &ScanRow::file},
//         {"peak_reserved_bytes", "peak reserved", Align::right, reserved_of, "peak_reserved"}};
//     const Table table = tabulate("Ranks", columns, scan.rows);
//
// gives rows of text for people, lines of CSV and JSON objects with the same figures.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/json/object.hpp>

#include "tools/text/cell.hpp"
#include "tools/text/output_format.hpp"

namespace highwater {

enum class Align { left, right };

template <class Row>
struct Column {
  std::string key;    ///< in JSON, nested at its dots; empty: not in JSON
  std::string label;  ///< in tables and CSV; empty: not there
  Align align = Align::left;
  std::function<Cell(const Row&)> cell;
  std::string csv = {};  ///< in CSV instead of the label
};

template <class Row>
using Columns = std::vector<Column<Row>>;

/// The names of a column. One without any is shown to people, under no heading.
struct TableHead {
  std::string key;
  std::string label;
  Align align = Align::left;
  std::string csv = {};

  [[nodiscard]] bool is_shown() const { return !label.empty() || (key.empty() && csv.empty()); }

  [[nodiscard]] const std::string& csv_name() const { return csv.empty() ? label : csv; }
};

struct Table {
  std::string title;
  std::vector<TableHead> heads;
  std::vector<std::vector<Cell>> rows;             ///< as many cells as heads
  std::vector<std::vector<std::string>> footer{};  ///< for people: totals, "... 3 more"
};

/// The columns with these keys or labels, in this order: for a table that shows some of them.
template <class Row>
Columns<Row> pick(const Columns<Row>& columns, const std::vector<std::string_view>& names) {
  Columns<Row> picked;
  for (const std::string_view name : names) {
    picked.push_back(*std::ranges::find_if(columns, [name](const Column<Row>& column) {
      return column.key == name || column.label == name;
    }));
  }
  return picked;
}

template <class Row>
std::vector<Cell> cells_of(const Columns<Row>& columns, const Row& row) {
  std::vector<Cell> cells;
  for (const Column<Row>& column : columns) {
    cells.push_back(column.cell(row));
  }
  return cells;
}

template <class Row, class Rows>
Table tabulate(std::string title, const Columns<Row>& columns, const Rows& rows) {
  Table table{std::move(title), {}, {}};
  for (const Column<Row>& column : columns) {
    table.heads.push_back({column.key, column.label, column.align, column.csv});
  }
  for (const Row& row : rows) {
    table.rows.push_back(cells_of(columns, row));
  }
  return table;
}

/// A row as a JSON object.
template <class Row>
boost::json::object row_json(const Columns<Row>& columns, const Row& row) {
  boost::json::object object;
  for (const Column<Row>& column : columns) {
    if (!column.key.empty()) {
      set_member(object, column.key, column.cell(row));
    }
  }
  return object;
}

boost::json::array rows_json(const Table& table);

/// Titles and cells are made printable (safe_text.hpp) by all three.
std::string format_aligned(const Table& table);
std::string format_markdown(const Table& table);
/// With a header line; fields quoted as RFC 4180 says.
std::string format_csv(const Table& table);

}  // namespace highwater
