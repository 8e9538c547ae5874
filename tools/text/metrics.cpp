#include "tools/text/metrics.hpp"

#include <boost/json.hpp>

#include "tools/text/safe_text.hpp"

namespace highwater {

void add_lines(const std::vector<std::string>& subject, const MetricList& list,
               std::vector<MetricLine>& lines) {
  for (const Metric& metric : list.metrics) {
    lines.push_back({subject, metric.key, metric.value});
  }
}

Table line_table(const std::vector<std::string>& subject, const std::vector<MetricLine>& lines) {
  Columns<MetricLine> columns;
  for (std::size_t i = 0; i < subject.size(); ++i) {
    columns.push_back(
        {"", subject[i], Align::left, [i](const MetricLine& line) { return line.subject[i]; }});
  }
  columns.push_back({"", "metric", Align::left, &MetricLine::key});
  columns.push_back({"", "value", Align::left, &MetricLine::value});
  return tabulate("", columns, lines);
}

Table line_table(const MetricList& list) {
  std::vector<MetricLine> lines;
  add_lines({}, list, lines);
  return line_table({}, lines);
}

Table to_table(const MetricList& list) {
  static const Columns<Metric> kColumns{{"", "metric", Align::left, &Metric::label},
                                        {"", "value", Align::right, &Metric::value}};
  std::vector<Metric> shown;
  for (const Metric& metric : list.metrics) {
    if (!metric.label.empty()) {
      shown.push_back(metric);
    }
  }
  return tabulate(list.title, kColumns, shown);
}

boost::json::object to_json(const MetricList& list) {
  boost::json::object root;
  for (const Metric& metric : list.metrics) {
    set_member(root, valid_utf8(metric.key), metric.value);
  }
  return root;
}

}  // namespace highwater
