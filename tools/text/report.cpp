#include "tools/text/report.hpp"

#include <boost/json.hpp>

#include "tools/text/markdown_text.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {

Report::Report(OutputFormat format, std::string_view schema)
    : format_(format), root_(std::make_unique<boost::json::object>()) {
  (*root_)["schema"] = schema;
}

Report::~Report() = default;

void Report::line(std::string_view text) {
  if (is_for_people()) {
    const std::string safe = printable(text);
    text_ += (format_ == OutputFormat::markdown ? markdown_text(safe) : safe) + "\n";
  }
}

void Report::text(std::string_view text) {
  if (is_for_people()) {
    text_ += text;
  }
}

void Report::items(std::string_view title, const std::vector<std::string>& lines) {
  if (lines.empty()) {
    return;
  }
  text("\n");
  line(title);
  for (const std::string& item : lines) {
    text(format_ == OutputFormat::markdown ? "- " : "  ");
    line(item);
  }
}

void Report::paragraph(std::string_view text) {
  line(text);
  paragraph();
}

void Report::paragraph() {
  text(format_ == OutputFormat::markdown ? "\n" : "");
}

void Report::table(const Table& table, Gap gap) {
  if (!is_for_people() || (table.rows.empty() && table.footer.empty())) {
    return;
  }
  const bool has_gap_after =
      gap == Gap::after || (gap == Gap::after_markdown && format_ == OutputFormat::markdown);
  text_ += gap == Gap::before ? "\n" : "";
  text_ += format_table(table, format_);
  text_ += has_gap_after ? "\n" : "";
}

void Report::csv(const std::function<Table()>& make, Gap gap) {
  if (format_ == OutputFormat::csv) {
    text_ += format_csv(make());
    text_ += gap == Gap::after ? "\n" : "";
  }
}

void Report::json(std::string_view key, const std::function<boost::json::value()>& make) {
  if (format_ == OutputFormat::json) {
    (*root_)[key] = make();
  }
}

void Report::members(const std::function<boost::json::object()>& make) {
  if (format_ == OutputFormat::json) {
    for (auto& [key, member] : make()) {
      (*root_)[key] = std::move(member);
    }
  }
}

void Report::value(std::string_view key, const Cell& cell) {
  if (format_ == OutputFormat::json) {
    set_member(*root_, key, cell);
  }
}

void Report::rows(std::string_view key, const Table& table, Gap gap) {
  this->table(table, gap);
  csv([&] { return table; });
  json(key, [&] { return rows_json(table); });
}

std::string Report::str() const {
  return format_ == OutputFormat::json ? boost::json::serialize(*root_) + "\n" : text_;
}

std::string format_table(const Table& table, OutputFormat format) {
  return format == OutputFormat::markdown ? format_markdown(table) : format_aligned(table);
}

}  // namespace highwater
