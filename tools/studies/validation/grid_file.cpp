#include "tools/studies/validation/grid_file.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"
#include "workloads/json/json_document.hpp"
#include "workloads/json/json_field.hpp"

namespace highwater {
namespace {

using GridField = JsonField;

constexpr std::string_view kGridRemedy =
    "see 'highwater validate --print-grid' for an example and 'highwater simulate --help' for the "
    "options";

constexpr std::string_view kMeasured = "measured";

constexpr std::array kFigures{MeasuredFigure::allocated, MeasuredFigure::reserved,
                              MeasuredFigure::process};

std::string bytes_key(MeasuredFigure figure) {
  return fmt::format("{}_bytes", to_string(figure));
}

/// Option names, which reports in JSON write with underscores.
std::string option_name(std::string_view key) {
  std::string name(key);
  std::ranges::replace(name, '_', '-');
  return name;
}

std::string scalar_text(const GridField& field) {
  const boost::json::value& value = field.value();
  if (value.is_string()) {
    return field.text();
  }
  if (value.is_bool()) {
    return field.boolean() ? "true" : "false";
  }
  if (value.is_null()) {
    return "none";
  }
  if (value.is_double()) {
    return fmt::format("{}", field.real());
  }
  if (value.is_number()) {
    return boost::json::serialize(value);
  }
  field.fail("expected a string, a number, true, false or null");
}

/// A value in the form of the command line: a list becomes "512,1024".
std::string value_text(const GridField& field) {
  if (!field.value().is_array()) {
    return scalar_text(field);
  }
  std::vector<std::string> parts;
  for (const GridField& element : field.elements()) {
    parts.push_back(scalar_text(element));
  }
  return fmt::format("{}", fmt::join(parts, ","));
}

Measurement read_measurement(const GridField& field) {
  std::optional<Measurement> measurement;
  for (const MeasuredFigure figure : kFigures) {
    if (const auto bytes = field.find(bytes_key(figure))) {
      if (measurement) {
        field.fail("two figures; put each in its own case");
      }
      measurement = Measurement{figure, Bytes{bytes->count()}, ""};
      if (measurement->bytes == Bytes{}) {
        bytes->fail("nothing was measured");
      }
    }
  }
  if (!measurement) {
    field.fail("missing figure; give one of allocated_bytes, reserved_bytes and process_bytes");
  }
  if (const auto source = field.find("source")) {
    measurement->source = source->text();
  }
  for (const auto& [key, value] : field.object()) {
    const std::string_view name = key;
    if (name != "source" && std::ranges::find(kFigures, name, bytes_key) == kFigures.end()) {
      field.at(name).fail("unknown field; give a figure and a source");
    }
  }
  return *measurement;
}

void need_model(const GridEntry& entry, const GridField& field) {
  if (std::ranges::find(entry.options, "model", &GridOption::name) == entry.options.end()) {
    field.fail("the field 'model' is missing");
  }
}

GridEntry read_measured_case(const GridField& field) {
  GridEntry entry{.path = field.path(), .options = {}, .measured = {}};
  for (const auto& [key, value] : field.object()) {
    const GridField member = field.at(key);
    if (std::string_view(key) == kMeasured) {
      entry.measured = read_measurement(member);
    } else {
      entry.options.push_back({option_name(key), value_text(member), member.path()});
    }
  }
  need_model(entry, field);
  return entry;
}

/// The values of one option in a cross product.
using GridAxis = std::vector<GridOption>;

GridAxis read_axis(const GridField& field, std::string_view key) {
  const std::string name = option_name(key);
  if (!field.value().is_array()) {
    return {{name, scalar_text(field), field.path()}};
  }
  GridAxis axis;
  for (const GridField& element : field.elements()) {
    axis.push_back({name, value_text(element), element.path()});
  }
  if (axis.empty()) {
    field.fail("an empty list yields no plans");
  }
  return axis;
}

std::vector<GridAxis> read_axes(const GridField& field) {
  std::vector<GridAxis> axes;
  for (const auto& [key, value] : field.object()) {
    if (std::string_view(key) == kMeasured) {
      field.at(key).fail("a cross product cannot have a measurement; list it as a case");
    }
    axes.push_back(read_axis(field.at(key), key));
  }
  return axes;
}

void check_size(std::size_t points, const GridField& field) {
  if (points > kMostGridPoints) {
    field.fail(
        fmt::format("more than {} plans; use fewer values, or several files", kMostGridPoints));
  }
}

/// Advances `index` to the next combination; false at the end of the product.
bool advance(std::vector<std::size_t>& index, const std::vector<GridAxis>& axes) {
  for (std::size_t a = axes.size(); a-- > 0;) {
    if (++index[a] < axes[a].size()) {
      return true;
    }
    index[a] = 0;
  }
  return false;
}

void cross(const GridField& field, std::vector<GridEntry>& entries) {
  const std::vector<GridAxis> axes = read_axes(field);
  std::size_t points = 1;
  for (const GridAxis& axis : axes) {
    points *= axis.size();
    check_size(entries.size() + points, field);  // after each: no product overflows
  }
  std::vector<std::size_t> index(axes.size());
  do {
    GridEntry entry{.path = field.path(), .options = {}, .measured = {}};
    for (std::size_t a = 0; a < axes.size(); ++a) {
      entry.options.push_back(axes[a][index[a]]);
    }
    need_model(entry, field);
    entries.push_back(std::move(entry));
  } while (advance(index, axes));
}

void cross_all(const GridField& field, std::vector<GridEntry>& entries) {
  if (!field.value().is_array()) {
    cross(field, entries);
    return;
  }
  for (const GridField& element : field.elements()) {
    cross(element, entries);
  }
}

}  // namespace

std::string_view to_string(MeasuredFigure figure) {
  constexpr std::array<std::string_view, 3> kNames{"allocated", "reserved", "process"};
  return kNames[static_cast<std::size_t>(figure)];
}

std::vector<GridEntry> read_grid(std::string_view text, const std::string& source) {
  const boost::json::value document = parse_json_document(text, source, kGridRemedy);
  const GridField root(document, "", source, kGridRemedy);
  for (const auto& [key, value] : root.object()) {
    if (std::string_view(key) != "grid" && std::string_view(key) != "cases") {
      root.at(key).fail("unknown field; a grid file has the fields grid and cases");
    }
  }
  std::vector<GridEntry> entries;
  if (const auto grid = root.find("grid")) {
    cross_all(*grid, entries);
  }
  if (const auto cases = root.find("cases")) {
    for (const GridField& field : cases->elements()) {
      entries.push_back(read_measured_case(field));
      check_size(entries.size(), field);
    }
  }
  if (entries.empty()) {
    root.fail("it contains no plans; add grid or cases");
  }
  return entries;
}

}  // namespace highwater
