#include "tools/studies/scaling/recorded_integers.hpp"

#include <algorithm>
#include <array>
#include <vector>

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

/// Sizes of the images of the first pass, where that was fed images: [batch, channels, height,
/// width].
std::vector<std::uint64_t> image_sizes(const std::string& plan) {
  const boost::json::object batch = part_of(plan, "batch");
  const auto* tensors = batch.if_contains("tensors");
  for (const std::string_view name : {"pixel_values", "0", "x"}) {
    const auto* shape = tensors != nullptr && tensors->is_object()
                            ? tensors->get_object().if_contains(name)
                            : nullptr;
    if (shape == nullptr) {
      continue;
    }
    const auto sizes = boost::json::try_value_to<std::vector<std::uint64_t>>(*shape);
    if (sizes && sizes->size() == 4) {
      return *sizes;
    }
  }
  return {};
}

/// Square images have a side; of others only their number is known.
NamedIntegers image_integers(const std::string& plan) {
  const std::vector<std::uint64_t> sizes = image_sizes(plan);
  if (sizes.empty()) {
    return {};
  }
  NamedIntegers integers{{"batch", sizes[0]}};
  if (sizes[2] == sizes[3]) {
    integers.emplace_back("side", sizes[2]);
  }
  return integers;
}

}  // namespace

NamedIntegers recorded_integers(const std::string& plan) {
  const boost::json::array shapes = shapes_in(plan);
  if (!shapes.empty() && shapes.front().is_null()) {
    return image_integers(plan);
  }
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

}  // namespace highwater
