#include "tools/studies/scaling/recorded_integers.hpp"

#include <algorithm>

#include <boost/json.hpp>

namespace highwater {
namespace {

/// plan.PART, or nothing that can be used.
boost::json::object part_of(const std::string& plan, std::string_view part) {
  boost::system::error_code error;
  const boost::json::value root = boost::json::parse(plan, error);
  const auto* object = error ? nullptr : root.if_object();
  const auto* found = object != nullptr ? object->if_contains(part) : nullptr;
  return found != nullptr && found->is_object() ? found->get_object() : boost::json::object();
}

boost::json::array shapes_in(const std::string& plan) {
  const boost::json::object batch = part_of(plan, "batch");
  const auto* shapes = batch.if_contains("shapes");
  return shapes != nullptr && shapes->is_array() ? shapes->get_array() : boost::json::array();
}

}  // namespace

NamedIntegers recorded_integers(const std::string& plan) {
  const boost::json::array shapes = shapes_in(plan);
  const bool is_even = std::ranges::all_of(
      shapes, [&](const boost::json::value& shape) { return shape == shapes.front(); });
  if (shapes.empty() || !is_even || !shapes.front().is_array()) {
    return {};
  }
  constexpr std::array<std::string_view, 2> kNames{"batch", "seq"};
  const boost::json::array& shape = shapes.front().get_array();
  NamedIntegers integers;
  for (std::size_t i = 0; i < kNames.size() && i < shape.size(); ++i) {
    boost::system::error_code error;
    const auto value = shape[i].to_number<std::uint64_t>(error);
    if ((i == 0 || shape.size() == kNames.size()) && !error && value != 0) {
      integers.emplace_back(kNames.at(i), value);
    }
  }
  return integers;
}

std::string recorded_gpu(const std::string& plan) {
  const boost::json::object device = part_of(plan, "device");
  const auto* name = device.if_contains("gpu");
  return name != nullptr && name->is_string() ? std::string(name->get_string()) : "";
}

}  // namespace highwater
