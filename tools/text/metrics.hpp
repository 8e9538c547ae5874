// A report as a list of named numbers, from which every output format is made.
//
// Each metric has the key that JSON uses ("peak.reserved_bytes") and the words that people read;
// so the formats cannot disagree. Integers stay exact in JSON and CSV; tables show IEC units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <boost/json/fwd.hpp>

#include "traces/units.hpp"

namespace highwater {

/// Absence (a capacity that is unlimited) is monostate: null in JSON, "-" in tables.
using MetricValue =
    std::variant<std::monostate, Bytes, std::int64_t, std::uint64_t, double, bool, std::string>;

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

/// Columns of text with a title: what has rows rather than names.
struct TextTable {
  std::string title;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> right_aligned;  ///< by column
};

/// "+12.3 %", and "> +999 %" for more than that.
std::string percent_text(double fraction);

/// As to_iec, for sizes that are no whole bytes or below 0: "39.41 GiB", "-1.50 MiB".
std::string bytes_text(double bytes);

/// For people: "39.41 GiB", "0.173", "yes".
std::string to_text(const MetricValue& value);
/// Exact: "42312138752", "0.17338", "true".
std::string to_exact_text(const MetricValue& value);

/// Texts as a list, made valid UTF-8.
boost::json::array words_json(const std::vector<std::string>& words);

/// The metrics nested by the dots of their keys; all strings valid UTF-8.
boost::json::object to_json(const MetricList& list);

/// Label and value, as aligned columns or as a Markdown table.
TextTable to_table(const MetricList& list);

/// Titles and cells are made printable (safe_text.hpp) by all three.
std::string format_aligned(const TextTable& table);
std::string format_markdown(const TextTable& table);
/// With a header line; fields quoted as RFC 4180 says.
std::string format_csv(const TextTable& table);

}  // namespace highwater
