// One value of a report, for machines and for people.
//
// JSON writes the value itself, CSV its exact text ("42312138752"), tables its words ("39.41 GiB").
// Where the usual text of a value does not serve, the cell carries another one.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <boost/json/fwd.hpp>

#include "traces/units.hpp"

namespace highwater {

/// Absence (a capacity that is unlimited) is monostate: null in JSON, "-" in tables.
using MetricValue =
    std::variant<std::monostate, Bytes, std::int64_t, std::uint64_t, double, bool, std::string>;

namespace detail {

template <class T>
MetricValue metric_value(const T& value) {
  if constexpr (std::same_as<T, std::monostate> || std::same_as<T, bool> ||
                std::same_as<T, Bytes> || std::same_as<T, MetricValue>) {
    return value;
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return std::string(std::string_view(value));
  } else if constexpr (std::floating_point<T>) {
    return double{value};
  } else if constexpr (std::unsigned_integral<T>) {
    return std::uint64_t{value};
  } else {
    static_assert(std::signed_integral<T>, "a report has no such values");
    return std::int64_t{value};
  }
}

}  // namespace detail

struct Cell {
  /// Blank; JSON leaves the key out.
  Cell() = default;

  template <class T>

  requires(!std::same_as<T, Cell>) Cell(const T& of) : value(detail::metric_value(of)) {}

  template <class T>
  Cell(const std::optional<T>& of) : value(of ? detail::metric_value(*of) : MetricValue()) {}

  /// Blank in tables and CSV, null in JSON.
  static Cell blank() { return Cell(MetricValue()).written_as(""); }

  /// Other words for people.
  [[nodiscard]] Cell shown_as(std::string text) && {
    shown = std::move(text);
    return std::move(*this);
  }

  /// The same other words in tables and in CSV.
  [[nodiscard]] Cell written_as(const std::string& text) && {
    shown = text;
    exact = text;
    return std::move(*this);
  }

  std::optional<MetricValue> value;
  std::optional<std::string> shown;
  std::optional<std::string> exact;
  std::function<boost::json::value()> json;  ///< in JSON instead of `value`
};

/// A list or an object, which only JSON can show; made when JSON is written.
Cell nested(std::function<boost::json::value()> json);

/// "12.34 %"; the fraction in JSON and CSV.
Cell percent_cell(double fraction, int decimals);

/// "+12.34 %"; the fraction in JSON and CSV.
Cell signed_percent_cell(double fraction, int decimals);

/// "+12.3 %", and "> +999 %" for more than that.
std::string percent_text(double fraction);

/// As to_iec, for sizes that are no whole bytes or below 0: "39.41 GiB", "-1.50 MiB".
std::string bytes_text(double bytes);

/// "+1.20 MiB", "-512 B"; "=" for 0.
std::string size_change_text(std::int64_t bytes);

/// For people: "39.41 GiB", "0.173", "yes".
std::string to_text(const MetricValue& value);
std::string to_text(const Cell& cell);

/// Exact: "42312138752", "0.17338", "true".
std::string to_exact_text(const MetricValue& value);
std::string to_exact_text(const Cell& cell);

/// Strings made valid UTF-8.
boost::json::value to_json(const MetricValue& value);

/// Sets the member that a path names ("peak.reserved_bytes"), unless the cell is blank.
void set_member(boost::json::object& object, std::string_view path, const Cell& cell);

/// Texts as a list, made valid UTF-8.
boost::json::array words_json(const std::vector<std::string>& words);

}  // namespace highwater
