// Models by name: every preset has the published number of parameters, by kind.
#include "workloads/plan/catalog/presets.hpp"

#include <set>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/workloads/plan/catalog/model_text.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/named_model.hpp"
#include "workloads/plan/model/parameter_count.hpp"

using namespace highwater;
using test::parameters_of;
using test::reference_models;
namespace json = boost::json;
using Catch::Matchers::Contains;

TEST_CASE("presets: all 43 reference models have their published parameters, by kind", "[models]") {
  const json::array models = reference_models("reference.json");
  REQUIRE(models.size() == 43);
  for (const json::value& model : models) {
    const std::string name(model.at("name").as_string().c_str());
    INFO(name);
    const ModelSpec& spec = model_preset(name);
    const ParameterCount count = parameter_count(spec.config);
    CHECK(count.total() == model.at("computed_params").as_int64());
    CHECK(count.embedding == parameters_of(model, "embedding"));
    CHECK(count.linear == parameters_of(model, "linear"));
    CHECK(count.norm == parameters_of(model, "norm"));
    CHECK(count.bias + count.buffer == parameters_of(model, "bias"));
    CHECK(family_name(spec) == model.at("family").as_string());
    CHECK(model_problems(spec).empty());
  }
}

TEST_CASE("records: a flat record describes the same model as the preset", "[models]") {
  for (const json::value& model : reference_models("reference.json")) {
    const ModelSpec& preset = model_preset(model.at("name").as_string().c_str());
    INFO(preset.name);
    const ModelSpec record = model_from_json(model, "reference.json");
    CHECK(shape_of(record) == shape_of(preset));
    CHECK(parameter_count(record.config) == parameter_count(preset.config));
  }
}

TEST_CASE("presets: further published sizes", "[models]") {
  // total_size of each hub repository's safetensors index, in parameters.
  CHECK(parameter_count(model_preset("llama-3.2-1b").config).total() == 1235814400);
  CHECK(parameter_count(model_preset("llama-3.2-3b").config).total() == 3212749824);
  CHECK(parameter_count(model_preset("tinyllama-1.1b").config).total() == 1100048384);
  CHECK(parameter_count(model_preset("qwen2.5-14b").config).total() == 14770033664);
  CHECK(parameter_count(model_preset("qwen3-8b").config).total() == 8190735360);
  CHECK(parameter_count(model_preset("gemma-7b").config).total() == 8537680896);
  CHECK(parameter_count(model_preset("gptj-6b").config).total() == 6050882784);
  CHECK(parameter_count(model_preset("t5-small").config).total() == 60506624);
}

TEST_CASE("presets: names are unique, sourced, and the recordings' names lead somewhere",
          "[models]") {
  std::set<std::string> names;
  for (const ModelSpec& spec : model_presets()) {
    CHECK(names.insert(spec.name).second);
    CHECK_FALSE(spec.source.empty());
    CHECK(model_problems(spec).empty());
  }
  for (const auto* const name :
       {"gpt2",      "gpt2-medium",    "gpt2-large", "gpt2-xl",      "opt-125m",
        "opt-350m",  "opt-1.3b",       "bloom-560m", "gpt-neo-125m", "codegen-350m",
        "gptj-tiny", "llama-160m",     "llama-1b",   "llama-3b",     "llama-2-7b",
        "llama-8b",  "tinyllama-1.1b", "mistral-7b", "qwen2-0.5b",   "qwen2-1.5b",
        "gemma-2b",  "mixtral-small",  "plain-160m", "plain-1b",     "plain-8b"}) {
    CHECK(find_model_preset(name) != nullptr);
  }
}

TEST_CASE("presets: case, aliases and hub ids lead to the same model", "[models]") {
  CHECK(model_preset("GPT-Neo-125m").name == "gpt-neo-125M");
  CHECK(model_preset("llama-8b").name == "llama-3-8b");
  CHECK(model_preset("facebook/OPT-350m").name == "opt-350m");
  CHECK(find_model_preset("") == nullptr);
  CHECK(model_preset("meta-llama/Meta-Llama-3-8B").name == "llama-3-8b");
  CHECK(model_preset("meta-llama/Llama-2-7b-chat-hf").name == "llama-2-7b");
  CHECK(model_preset("Qwen/Qwen2.5-7B-Instruct").name == "qwen2.5-7b");
  CHECK(model_preset("google/gemma-2b-it").name == "gemma-2b");
  CHECK(model_preset("google/gemma-3-1b-it").name == "gemma-3-1b");
  CHECK(model_preset("Qwen/Qwen3-30B-A3B-Instruct-2507").name == "qwen3-30b-a3b");
  CHECK(model_preset("meta-llama/Llama-3.3-70B-Instruct").name == "llama-3.1-70b");
  CHECK(find_model_preset("mistralai/Mistral-7B-v0.2") == nullptr);  // another vocabulary
}

TEST_CASE("presets: an unknown name gives the nearest ones", "[models]") {
  CHECK_THROWS_AS(model_preset("llama3-8b"), UsageError);
  CHECK_THROWS_WITH(model_preset("llama3-8b"), Contains("'llama3-8b'") && Contains("'llama-3-8b'"));
  CHECK_THROWS_WITH(model_preset("deepseek"), Contains("'deepseek-v3'"));
  CHECK_THROWS_WITH(model_preset("google/reformer-crime-and-punishment"),
                    Contains("none of a similar name") &&
                        Contains("hf download google/reformer-crime-and-punishment config.json") &&
                        !Contains("t5-base"));
  CHECK_THROWS_WITH(model_preset("mistralai/Mistral-7B-v0.2"), Contains("'mistral-7b'"));
}
