#include "workloads/plan/model/rope.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <boost/json.hpp>

#include "workloads/plan/model/json_fields.hpp"

namespace highwater {
namespace {

using RopeName = std::pair<std::string_view, RopeType>;

constexpr std::array kRopeTypes{
    RopeName{"default", RopeType::standard},  RopeName{"linear", RopeType::linear},
    RopeName{"dynamic", RopeType::dynamic},   RopeName{"yarn", RopeType::yarn},
    RopeName{"longrope", RopeType::longrope}, RopeName{"llama3", RopeType::llama3},
    RopeName{"su", RopeType::longrope},       RopeName{"proportional", RopeType::proportional},
};

void read_rope_type(RopeType& type, JsonFields& scaling) {
  const std::string_view key = scaling.find("rope_type") != nullptr ? "rope_type" : "type";
  const std::string name = scaling.text(key);
  if (name.empty()) {
    return;
  }
  const auto* const found = std::ranges::find(kRopeTypes, std::string_view(name), &RopeName::first);
  if (found == kRopeTypes.end()) {
    scaling.add_gap(
        key, "is '" + name +
                 "', not one of default, linear, dynamic, yarn, longrope, llama3, proportional");
    return;
  }
  type = found->second;
}

}  // namespace

void read_rope(RopeParameters& rope, JsonFields& fields) {
  fields.read(rope.rope_theta, "rope_theta");
  fields.read(rope.partial_rotary_factor, "partial_rotary_factor");
  auto scaling = fields.child("rope_scaling");
  if (!scaling) {
    scaling = fields.child("rope_parameters");
  }
  if (!scaling) {
    return;
  }
  read_rope_type(rope.rope_type, *scaling);
  scaling->read(rope.rope_theta, "rope_theta");
  scaling->read(rope.factor, "factor");
  scaling->read(rope.partial_rotary_factor, "partial_rotary_factor");
  scaling->read(rope.original_max_position_embeddings, "original_max_position_embeddings");
}

void write_rope(const RopeParameters& rope, boost::json::object& object) {
  const auto* const name = std::ranges::find(kRopeTypes, rope.rope_type, &RopeName::second);
  boost::json::object parameters{{"rope_type", name->first}, {"rope_theta", rope.rope_theta}};
  if (rope.partial_rotary_factor != 1.0) {
    parameters["partial_rotary_factor"] = rope.partial_rotary_factor;
  }
  if (rope.rope_type != RopeType::standard) {
    parameters["factor"] = rope.factor;
    parameters["original_max_position_embeddings"] =
        rope.original_max_position_embeddings.value_or(8192);
  }
  if (rope.rope_type == RopeType::llama3) {
    parameters["low_freq_factor"] = 1.0;
    parameters["high_freq_factor"] = 4.0;
  }
  object["rope_parameters"] = std::move(parameters);
}

}  // namespace highwater
