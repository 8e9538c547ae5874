#include "tools/text/table.hpp"

#include <algorithm>
#include <iterator>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/text/csv_field.hpp"
#include "tools/text/markdown_text.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

using TextRow = std::vector<std::string>;

/// What is shown of a table, safe to print: cells hold names from files.
struct ShownTable {
  std::string title;
  std::vector<Align> aligns;
  TextRow heads;
  std::vector<TextRow> rows;  ///< the footer's, too
};

TextRow printable_row(TextRow row) {
  for (std::string& cell : row) {
    cell = printable(cell);
  }
  return row;
}

ShownTable shown(const Table& table) {
  ShownTable result{printable(table.title), {}, {}, {}};
  for (const TableHead& head : table.heads) {
    if (head.is_shown()) {
      result.heads.push_back(head.label);
      result.aligns.push_back(head.align);
    }
  }
  for (const std::vector<Cell>& cells : table.rows) {
    TextRow& row = result.rows.emplace_back();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (table.heads[c].is_shown()) {
        row.push_back(printable(to_text(cells[c])));
      }
    }
  }
  std::ranges::transform(table.footer, std::back_inserter(result.rows), printable_row);
  return result;
}

std::vector<std::size_t> column_widths(const ShownTable& table) {
  std::vector<std::size_t> widths(table.heads.size());
  const auto widen = [&](const TextRow& row) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      widths[c] = std::max(widths[c], row[c].size());
    }
  };
  widen(table.heads);
  std::ranges::for_each(table.rows, widen);
  return widths;
}

std::string aligned_row(const ShownTable& table, const TextRow& cells,
                        const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    line += table.aligns[c] == Align::right ? fmt::format("  {:>{}}", cells[c], widths[c])
                                            : fmt::format("  {:<{}}", cells[c], widths[c]);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string csv_row(const TextRow& cells) {
  std::string line;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    line += (c == 0 ? "" : ",") + csv_field(cells[c]);
  }
  return line + "\n";
}

std::string markdown_row(const TextRow& cells) {
  std::string line = "|";
  for (const std::string& cell : cells) {
    line += " " + markdown_text(cell, "|") + " |";
  }
  return line + "\n";
}

}  // namespace

boost::json::array rows_json(const Table& table) {
  boost::json::array array;
  for (const std::vector<Cell>& cells : table.rows) {
    boost::json::object& object = array.emplace_back(boost::json::object()).as_object();
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (!table.heads[c].key.empty()) {
        set_member(object, table.heads[c].key, cells[c]);
      }
    }
  }
  return array;
}

std::string format_aligned(const Table& all) {
  const ShownTable table = shown(all);
  const std::vector<std::size_t> widths = column_widths(table);
  std::string text = table.title.empty() ? "" : table.title + "\n";
  text += aligned_row(table, table.heads, widths);
  for (const TextRow& row : table.rows) {
    text += aligned_row(table, row, widths);
  }
  return text;
}

std::string format_markdown(const Table& all) {
  const ShownTable table = shown(all);
  std::string text = table.title.empty() ? "" : "### " + markdown_text(table.title) + "\n\n";
  text += markdown_row(table.heads) + "|";
  for (const Align align : table.aligns) {
    text += align == Align::right ? " ---: |" : " --- |";
  }
  text += "\n";
  for (const TextRow& row : table.rows) {
    text += markdown_row(row);
  }
  return text;
}

std::string format_csv(const Table& table) {
  TextRow names;
  for (const TableHead& head : table.heads) {
    if (!head.csv_name().empty()) {
      names.push_back(head.csv_name());
    }
  }
  std::string text = csv_row(names);
  for (const std::vector<Cell>& cells : table.rows) {
    TextRow row;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (!table.heads[c].csv_name().empty()) {
        row.push_back(printable(to_exact_text(cells[c])));
      }
    }
    text += csv_row(row);
  }
  return text;
}

}  // namespace highwater
