#include "workloads/sources/programs/megatron/megatron_bridge_recipes.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <boost/json.hpp>

#include "workloads/plan/catalog/listed_models.hpp"

namespace highwater::program_table {
namespace {

/// A number or a truth value as an option takes it.
std::string word(const JsonField& value) {
  return boost::json::serialize(value.value());
}

std::string word_if_any(const std::optional<JsonField>& value) {
  return value ? word(*value) : std::string();
}

BridgeRecipe recipe_of(const JsonField& row, std::string_view model) {
  return {.name = row.at("recipe").view(),
          .older_name = row.at("older").view(),
          .model = model,
          .tp = word(row.at("tp")),
          .pp = word(row.at("pp")),
          .chunks = word_if_any(row.find("chunks")),
          .cp = word(row.at("cp")),
          .sp = word(row.at("sp")),
          .seq = word(row.at("seq")),
          .batch = word(row.at("batch")),
          .global_batch = word(row.at("global_batch")),
          .overlaps = word(row.at("overlaps")),
          .packs_offline = row.at("packs").boolean()};
}

std::vector<BridgeRecipe> read_recipes() {
  std::vector<BridgeRecipe> recipes;
  for (const ListedModel& model : listed_models()) {
    if (const auto rows = model.row.find("megatron_bridge")) {
      for (const JsonField& row : rows->elements()) {
        recipes.push_back(recipe_of(row, model.name));
      }
    }
  }
  return recipes;
}

}  // namespace

const BridgeRecipe* find_bridge_recipe(std::string_view name) {
  static const std::vector<BridgeRecipe> kRecipes = read_recipes();
  const auto found = std::ranges::find_if(kRecipes, [&](const BridgeRecipe& recipe) {
    return recipe.name == name || recipe.older_name == name;
  });
  return found == kRecipes.end() ? nullptr : &*found;
}

}  // namespace highwater::program_table
