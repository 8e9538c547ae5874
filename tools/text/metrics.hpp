// What is known of one subject, as a list of named values: a table of one row, shown upright.
//
// Each metric has the key that JSON uses ("peak.reserved_bytes") and the words that people read;
// so the formats cannot disagree.
#pragma once

#include <string>
#include <vector>

#include "tools/text/table.hpp"

namespace highwater {

struct Metric {
  std::string key;    ///< dotted path in JSON
  std::string label;  ///< words in tables; empty: not shown there
  MetricValue value;
};

struct MetricList {
  std::string title;
  std::vector<Metric> metrics;

  void add(std::string key, std::string label, MetricValue value) {
    metrics.push_back({std::move(key), std::move(label), std::move(value)});
  }
};

/// A metric among those of several subjects, and the names that tell these apart.
struct MetricLine {
  std::vector<std::string> subject;
  std::string key;
  MetricValue value;
};

void add_lines(const std::vector<std::string>& subject, const MetricList& list,
               std::vector<MetricLine>& lines);

/// For CSV: a column for each of `subject` ("file", "device"), key and exact value.
Table line_table(const std::vector<std::string>& subject, const std::vector<MetricLine>& lines);

/// For CSV: keys and exact values of one subject.
Table line_table(const MetricList& list);

/// For people: label and value.
Table to_table(const MetricList& list);

/// The metrics nested by the dots of their keys.
boost::json::object to_json(const MetricList& list);

}  // namespace highwater
