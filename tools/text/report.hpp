// What a command answers, in every format: sections of text, tables and data, in order.
//
// People read lines and tables; CSV is the tables that were given to it; JSON is one object with a
// member for each section with a key. Only what the format asked for shows is made.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

#include "tools/text/output_format.hpp"
#include "tools/text/table.hpp"

namespace highwater {

/// Where a table for people is set apart from the text around it by an empty line.
enum class Gap {
  none,
  before,
  after,
  after_markdown  ///< where the text would else become a row of the table
};

class Report {
 public:
  /// `schema`: "highwater.scan/1".
  Report(OutputFormat format, std::string_view schema);
  ~Report();
  Report(const Report&) = delete;
  Report& operator=(const Report&) = delete;

  /// For people: one line, made printable.
  void line(std::string_view text);
  /// For people: printable text with its own line ends.
  void text(std::string_view text);
  /// For people: a heading and a list; nothing for an empty one.
  void items(std::string_view title, const std::vector<std::string>& lines);
  /// An empty line in Markdown, which joins lines that follow each other.
  void paragraph();
  /// One line, and in Markdown a paragraph.
  void paragraph(std::string_view text);
  /// For people; a table without rows is left out.
  void table(const Table& table, Gap gap = Gap::after);
  void csv(const std::function<Table()>& make, Gap gap = Gap::none);
  void json(std::string_view key, const std::function<boost::json::value()>& make);
  /// All members of an object.
  void members(const std::function<boost::json::object()>& make);
  /// In JSON alone.
  void value(std::string_view key, const Cell& cell);
  /// In every format; in JSON a list of objects.
  void rows(std::string_view key, const Table& table, Gap gap = Gap::after);

  /// The whole, in the format asked for.
  [[nodiscard]] std::string str() const;

 private:
  [[nodiscard]] bool is_for_people() const {
    return format_ == OutputFormat::table || format_ == OutputFormat::markdown;
  }

  OutputFormat format_;
  std::string text_;  ///< all but JSON
  std::unique_ptr<boost::json::object> root_;
};

/// As one of the two formats for people.
std::string format_table(const Table& table, OutputFormat format);

}  // namespace highwater
