#include "tools/text/cell.hpp"

#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/text/safe_text.hpp"
#include "traces/overloaded.hpp"

namespace highwater {
namespace {

/// The member at a path of keys with dots between them; the objects on the way are made.
boost::json::value& member_at(boost::json::object& root, std::string_view path) {
  boost::json::object* parent = &root;
  for (std::size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    boost::json::value& child = (*parent)[path.substr(0, dot)];
    parent = child.is_object() ? &child.as_object() : &child.emplace_object();
    path.remove_prefix(dot + 1);
  }
  return (*parent)[path];
}

}  // namespace

Cell nested(std::function<boost::json::value()> json) {
  Cell cell;
  cell.json = std::move(json);
  return cell;
}

Cell percent_cell(double fraction, int decimals) {
  return Cell(fraction).shown_as(fmt::format("{:.{}f} %", 100 * fraction, decimals));
}

Cell signed_percent_cell(double fraction, int decimals) {
  return Cell(fraction).shown_as(fmt::format("{:+.{}f} %", 100 * fraction, decimals));
}

std::string percent_text(double fraction) {
  constexpr double kMost = 9.999;
  return fraction > kMost ? "> +999 %" : fmt::format("{:+.1f} %", 100 * fraction);
}

std::string bytes_text(double bytes) {
  const std::string size = to_iec(Bytes{static_cast<std::uint64_t>(std::llround(std::abs(bytes)))});
  return bytes < 0 ? "-" + size : size;
}

std::string size_change_text(std::int64_t bytes) {
  return bytes == 0 ? "=" : to_iec_signed(bytes);
}

std::string to_text(const MetricValue& value) {
  return std::visit(Overloaded{[](std::monostate) { return std::string("-"); },
                               [](Bytes bytes) { return to_iec(bytes); },
                               [](std::int64_t count) { return std::to_string(count); },
                               [](std::uint64_t count) { return std::to_string(count); },
                               [](double number) { return fmt::format("{:.4f}", number); },
                               [](bool yes) { return std::string(yes ? "yes" : "no"); },
                               [](const std::string& text) { return text; }},
                    value);
}

std::string to_text(const Cell& cell) {
  return cell.shown ? *cell.shown : cell.value ? to_text(*cell.value) : "";
}

std::string to_exact_text(const MetricValue& value) {
  return std::visit(Overloaded{[](std::monostate) { return std::string(); },
                               [](Bytes bytes) { return std::to_string(bytes.count()); },
                               [](std::int64_t count) { return std::to_string(count); },
                               [](std::uint64_t count) { return std::to_string(count); },
                               [](double number) { return fmt::format("{}", number); },
                               [](bool yes) { return std::string(yes ? "true" : "false"); },
                               [](const std::string& text) { return text; }},
                    value);
}

std::string to_exact_text(const Cell& cell) {
  return cell.exact ? *cell.exact : cell.value ? to_exact_text(*cell.value) : "";
}

boost::json::value to_json(const MetricValue& value) {
  return std::visit(
      Overloaded{[](std::monostate) { return boost::json::value(nullptr); },
                 [](Bytes bytes) { return boost::json::value(bytes.count()); },
                 [](const std::string& text) { return boost::json::value(valid_utf8(text)); },
                 [](auto number) { return boost::json::value(number); }},
      value);
}

void set_member(boost::json::object& object, std::string_view path, const Cell& cell) {
  if (cell.json) {
    member_at(object, path) = cell.json();
  } else if (cell.value) {
    member_at(object, path) = to_json(*cell.value);
  }
}

boost::json::array words_json(const std::vector<std::string>& words) {
  boost::json::array array;
  for (const std::string& word : words) {
    array.emplace_back(valid_utf8(word));
  }
  return array;
}

}  // namespace highwater
