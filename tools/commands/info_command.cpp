// highwater info: what is in these files.
#include <ostream>

#include <boost/json.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <fmt/format.h>

#include "tools/commands/commands.hpp"
#include "tools/reports/info_report.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

namespace po = boost::program_options;

TextTable site_table(const InfoSection& section) {
  TextTable table;
  table.title = "Top sites by live bytes at the peak";
  table.columns = {"site", "bytes", "blocks", "share"};
  table.right_aligned = {false, true, true, true};
  for (const TopSite& site : section.top_sites) {
    table.rows.push_back({site.label, to_iec(site.bytes), std::to_string(site.blocks),
                          fmt::format("{:.1f} %", 100 * site.share)});
  }
  return table;
}

boost::json::object section_json(const InfoSection& section) {
  boost::json::object object = to_json(section.metrics);
  boost::json::array& sites = object["top_sites"].emplace_array();
  for (const TopSite& site : section.top_sites) {
    sites.push_back({{"site", valid_utf8(site.label)},
                     {"bytes", site.bytes.count()},
                     {"blocks", site.blocks},
                     {"share", site.share}});
  }
  boost::json::array& notes = object["notes"].emplace_array();
  for (const std::string& note : section.notes) {
    notes.emplace_back(valid_utf8(note));
  }
  return object;
}

void write_json(const std::vector<FileInfo>& files, std::ostream& out) {
  boost::json::object root{{"schema", "highwater.info/1"}};
  boost::json::array& list = root["files"].emplace_array();
  for (const FileInfo& file : files) {
    boost::json::object object = to_json(file.metrics);
    object["file"] = valid_utf8(file.name);
    boost::json::array& sections = object["sections"].emplace_array();
    for (const InfoSection& section : file.sections) {
      sections.push_back(section_json(section));
    }
    list.push_back(std::move(object));
  }
  out << root << "\n";
}

void write_csv(const std::vector<FileInfo>& files, std::ostream& out) {
  TextTable table;
  table.columns = {"file", "section", "metric", "value"};
  const auto add = [&](const FileInfo& file, const std::string& section, const MetricList& list) {
    for (const Metric& metric : list.metrics) {
      table.rows.push_back({file.name, section, metric.key, to_exact_text(metric.value)});
    }
  };
  for (const FileInfo& file : files) {
    add(file, "", file.metrics);
    for (const InfoSection& section : file.sections) {
      add(file, section.metrics.title, section.metrics);
    }
  }
  out << format_csv(table);
}

void write_for_people(const FileInfo& file, OutputFormat format, std::ostream& out) {
  const auto write = [&](const TextTable& table) {
    out << (format == OutputFormat::markdown ? format_markdown(table) : format_aligned(table))
        << "\n";
  };
  write(to_table(file.metrics));
  for (const InfoSection& section : file.sections) {
    write(to_table(section.metrics));
    if (!section.top_sites.empty()) {
      write(site_table(section));
    }
    for (const std::string& note : section.notes) {
      out << "note: " << printable(note) << "\n";
    }
  }
}

/// Read as a signed number: Boost would take -1 for the largest unsigned one.
std::size_t sites_to_list(const po::variables_map& values) {
  const auto top = values["top"].as<std::int64_t>();
  if (top < 0) {
    throw UsageError(fmt::format("--top {}: not a number of call sites; use 0 or more", top));
  }
  return static_cast<std::size_t>(top);
}

}  // namespace

ExitCode run_info(const Arguments& arguments, std::ostream& out) {
  OptionParser parser(command("info"));
  parser.add()("top", po::value<std::int64_t>()->default_value(10)->value_name("N"),
               "call sites to list per device");
  parser.add_format();
  parser.positional("files", -1);
  const po::variables_map values = parser.parse(arguments);
  if (!values.contains("files")) {
    throw UsageError("info takes one or more FILEs; see highwater info --help");
  }
  const OutputFormat format = output_format(values);
  const std::size_t top = sites_to_list(values);
  std::vector<FileInfo> files;
  for (const std::string& name : values["files"].as<Arguments>()) {
    files.push_back(describe_file(read_trace_file(name, StackMode::keep), name, top));
  }
  if (format == OutputFormat::json) {
    write_json(files, out);
  } else if (format == OutputFormat::csv) {
    write_csv(files, out);
  } else {
    for (const FileInfo& file : files) {
      write_for_people(file, format, out);
    }
  }
  return ExitCode::ok;
}

}  // namespace highwater
