#include "tools/reports/info_report.hpp"

#include <boost/json.hpp>

#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

Table site_table(const InfoSection& section) {
  using enum Align;
  static const Columns<SiteHolding> kColumns{{"site", "site", left, &SiteHolding::label},
                                             {"bytes", "bytes", right, &SiteHolding::bytes},
                                             {"blocks", "blocks", right, &SiteHolding::blocks},
                                             {"share", "share", right, [](const SiteHolding& site) {
                                                return percent_cell(site.share, 1);
                                              }}};
  return tabulate("Top sites by live bytes at the peak", kColumns, section.top_sites);
}

boost::json::object section_json(const InfoSection& section) {
  boost::json::object object = to_json(section.metrics);
  object["top_sites"] = rows_json(site_table(section));
  object["notes"] = words_json(section.notes);
  return object;
}

boost::json::value files_json(const std::vector<FileInfo>& files) {
  boost::json::array list;
  for (const FileInfo& file : files) {
    boost::json::object object = to_json(file.metrics);
    object["file"] = valid_utf8(file.name);
    boost::json::array& sections = object["sections"].emplace_array();
    for (const InfoSection& section : file.sections) {
      sections.push_back(section_json(section));
    }
    list.push_back(std::move(object));
  }
  return list;
}

Table metric_table(const std::vector<FileInfo>& files) {
  std::vector<MetricLine> lines;
  for (const FileInfo& file : files) {
    add_lines({file.name, ""}, file.metrics, lines);
    for (const InfoSection& section : file.sections) {
      add_lines({file.name, section.metrics.title}, section.metrics, lines);
    }
  }
  return line_table({"file", "section"}, lines);
}

void add_file(const FileInfo& file, Report& report) {
  report.table(to_table(file.metrics));
  for (const InfoSection& section : file.sections) {
    report.table(to_table(section.metrics));
    report.table(site_table(section));
    if (!section.viewer.empty()) {
      report.line(section.viewer);
    }
    for (const std::string& note : section.notes) {
      report.line("note: " + note);
    }
  }
}

}  // namespace

std::string info_report(const std::vector<FileInfo>& files, OutputFormat format) {
  Report report(format, "highwater.info/1");
  for (const FileInfo& file : files) {
    add_file(file, report);
  }
  report.csv([&] { return metric_table(files); });
  report.json("files", [&] { return files_json(files); });
  return report.str();
}

}  // namespace highwater
