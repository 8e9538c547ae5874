// The list of models (workloads/facts/models.json): no name has two meanings, no field is misspelt,
// and the models have the parameters that transformers makes of them.
#include "workloads/plan/catalog/listed_models.hpp"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/workloads/plan/catalog/model_text.hpp"
#include "workloads/plan/catalog/config_json.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/model/parameter_count.hpp"

using namespace highwater;
using test::reference_models;
namespace json = boost::json;

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// What find_model_preset() takes for the model.
std::set<std::string> names_of(const ListedModel& model) {
  std::set<std::string> names{lower(model.name)};
  std::ranges::transform(model.aliases, std::inserter(names, names.end()), lower);
  if (!model.hub_id.empty()) {
    names.insert(lower(model.hub_id));
  }
  return names;
}

/// Names in the lists `member` of all models.
std::multiset<std::string_view> all_of(std::vector<std::string_view> ListedModel::*member) {
  std::multiset<std::string_view> names;
  for (const ListedModel& model : listed_models()) {
    names.insert((model.*member).begin(), (model.*member).end());
  }
  return names;
}

/// Numbers of any kind by their value.
bool are_alike(const json::value& first, const json::value& second) {
  return first == second || (first.is_number() && second.is_number() &&
                             first.to_number<double>() == second.to_number<double>());
}

/// The fields of `sizes` that are not so in `config`.
std::vector<std::string> lost_fields(const json::object& sizes, const json::object& config) {
  std::vector<std::string> lost;
  for (const auto& [key, value] : sizes) {
    const json::value* const found = config.if_contains(key);
    if (found != nullptr && value.is_object() && found->is_object()) {
      std::ranges::copy(lost_fields(value.get_object(), found->get_object()),
                        std::back_inserter(lost));
    } else if (found == nullptr || !are_alike(value, *found)) {
      lost.emplace_back(key);
    }
  }
  return lost;
}

}  // namespace

TEST_CASE("listed models: a name leads to one model", "[models][facts]") {
  std::map<std::string, std::string_view> models;
  for (const ListedModel& model : listed_models()) {
    for (const std::string& name : names_of(model)) {
      CAPTURE(name, model.name);
      CHECK(models.emplace(name, model.name).second);
      REQUIRE(find_model_preset(name) != nullptr);
      CHECK(find_model_preset(name)->name == model.name);
    }
  }
  for (const auto list : {&ListedModel::copies, &ListedModel::torchtune}) {
    for (const std::string_view name : all_of(list)) {
      CAPTURE(name);
      CHECK(all_of(list).count(name) == 1);
    }
  }
}

TEST_CASE("listed models: copies are in lower case and without an owner", "[models][facts]") {
  for (const std::string_view name : all_of(&ListedModel::copies)) {
    CHECK(name == lower(name));
    CHECK(name.find('/') == std::string_view::npos);
  }
}

TEST_CASE("listed models: rows have the fields that the file explains", "[models][facts]") {
  const std::set<std::string_view> known{"name",    "hub",       "source",         "weights",
                                         "aliases", "config",    "family",         "sizes",
                                         "copies",  "torchtune", "megatron_bridge"};
  for (const ListedModel& model : listed_models()) {
    CAPTURE(model.name);
    for (const auto& field : model.row.object()) {
      CAPTURE(field.key());
      CHECK(known.contains(field.key()));
    }
    CHECK(model.row.find("hub").has_value() != model.row.find("source").has_value());
    CHECK(model.row.find("config").has_value() != model.row.find("family").has_value());
    CHECK(std::set<std::string_view>{"", "bf16", "fp16", "fp32"}.contains(model.weights));
  }
}

TEST_CASE("listed models: every size is a field of its family", "[models][facts]") {
  for (const ListedModel& model : listed_models()) {
    if (const auto sizes = model.row.find("sizes")) {
      CAPTURE(model.name);
      const json::value config = json::parse(config_json(spec_of(model)));
      CHECK(lost_fields(sizes->object(), config.get_object()) == std::vector<std::string>{});
    }
  }
}

// Made on the meta device from the configuration by transformers 5.23.
TEST_CASE("listed models: a config has the parameters that transformers makes of it",
          "[models][facts]") {
  std::map<std::string_view, std::int64_t> counts;
  const json::array rows = reference_models("published_counts.json");
  for (const json::value& row : rows) {
    counts[row.at("name").as_string()] = row.at("parameters").as_int64();
  }
  for (const ListedModel& model : listed_models()) {
    if (!model.row.find("config")) {
      continue;
    }
    CAPTURE(model.name);
    REQUIRE(counts.contains(model.name));
    const ModelSpec& spec = model_preset(model.hub_id);
    CHECK(spec.name == model.name);
    if (!is_other(spec.config)) {
      CHECK(parameter_count(spec.config).total() == counts[model.name]);
    }
  }
}
