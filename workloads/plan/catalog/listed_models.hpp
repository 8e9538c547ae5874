// The models that workloads/facts/models.json lists, in its order: sizes, names and copies. What
// its fields mean, and their sources, stand in the file.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "workloads/json/json_field.hpp"
#include "workloads/plan/model/model_spec.hpp"

namespace highwater {

/// A row. The texts live as long as the program.
struct ListedModel {
  std::string_view name;
  std::string_view hub_id;   ///< on the Hugging Face hub; empty: not there
  std::string_view weights;  ///< type of the hub's weights: "bf16", "fp16", "fp32"; empty: unknown
  std::vector<std::string_view> aliases;
  std::vector<std::string_view> copies;
  std::vector<std::string_view> torchtune;  ///< its builders of the same decoder
  JsonField row;
};

std::span<const ListedModel> listed_models();

/// The model that has `name` in its list `names`, or nullptr.
const ListedModel* find_listed(std::vector<std::string_view> ListedModel::*names,
                               std::string_view name);

/// @throws InputError if it is none of its family
ModelSpec spec_of(const ListedModel& model);

}  // namespace highwater
