#include "workloads/plan/catalog/listed_models.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "workloads/facts/facts.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/model/families/all_families.hpp"
#include "workloads/plan/model/json_fields.hpp"

namespace highwater {
namespace {

ListedModel listed_model(const JsonField& row) {
  return {.name = row.at("name").view(),
          .hub_id = row.view_or_empty("hub"),
          .weights = row.view_or_empty("weights"),
          .aliases = row.views("aliases"),
          .copies = row.views("copies"),
          .torchtune = row.views("torchtune"),
          .row = row};
}

std::vector<ListedModel> read_models() {
  std::vector<ListedModel> models;
  std::ranges::transform(facts("models.json").at("models").elements(), std::back_inserter(models),
                         listed_model);
  return models;
}

const Family& family_in(const JsonField& name) {
  const auto families = all_families();
  const auto found =
      std::ranges::find(families, name.view(), [](const Family* family) { return family->name; });
  if (found == families.end()) {
    name.fail("is none of the families in workloads/plan/model/families");
  }
  return **found;
}

/// The family's defaults, but for the row's sizes.
ModelConfig sized_config(const JsonField& row) {
  const Family& family = family_in(row.at("family"));
  const std::optional<JsonField> sizes = row.find("sizes");
  if (!sizes) {
    return ModelConfig(family);
  }
  std::vector<std::string> problems;
  JsonFields fields(sizes->object(), "", problems);
  ModelConfig config = read_config(family, fields);
  if (!problems.empty()) {
    sizes->fail(fmt::format("{}", fmt::join(problems, "; ")));
  }
  return config;
}

std::string source_of(const ListedModel& model) {
  return model.hub_id.empty() ? model.row.at("source").text()
                              : fmt::format("https://huggingface.co/{}", model.hub_id);
}

}  // namespace

std::span<const ListedModel> listed_models() {
  static const std::vector<ListedModel> kModels = read_models();
  return kModels;
}

const ListedModel* find_listed(std::vector<std::string_view> ListedModel::*names,
                               std::string_view name) {
  const auto found = std::ranges::find_if(listed_models(), [&](const ListedModel& model) {
    return std::ranges::find(model.*names, name) != (model.*names).end();
  });
  return found == listed_models().end() ? nullptr : &*found;
}

ModelSpec spec_of(const ListedModel& model) {
  ModelSpec spec;
  if (const auto config = model.row.find("config")) {
    spec = model_from_text(boost::json::serialize(config->object()),
                           "workloads/facts/models.json, " + config->path());
    spec.family_defaults.clear();
  } else {
    spec.config = sized_config(model.row);
  }
  spec.name = model.name;
  spec.source = source_of(model);
  return spec;
}

}  // namespace highwater
