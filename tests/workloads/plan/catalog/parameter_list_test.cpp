// Rules: a list of parameters is a model to closed forms about model states.
#include "workloads/plan/catalog/parameter_list.hpp"

#include <catch2/catch.hpp>

#include "traces/error.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/model/parameter_count.hpp"

using namespace highwater;
using Catch::Contains;

TEST_CASE("parameter list: read as it is written", "[plan][config]") {
  const ModelSpec spec = model_from_text(
      R"({"name": "Net", "parameters": [{"name": "0.weight", "shape": [4, 8], "dtype": "bfloat16"},
          {"name": "0.bias", "shape": [4]}, {"name": "scale", "shape": []}]})",
      "f");
  CHECK(spec.name == "Net");
  REQUIRE(lists_parameters(spec.config));
  CHECK(parameter_count(spec.config).trainable() == 37);
  const auto& config = spec.config.as<OtherConfig>();
  CHECK(config.parameters.at(0).dtype == "bfloat16");
  CHECK(config.parameters.at(1).dtype == "float32");
  CHECK(config.largest_layer == std::nullopt);
}

TEST_CASE("parameter list: what is wrong is named with its place", "[plan][config]") {
  const auto refusal = [](const std::string& text) {
    try {
      static_cast<void>(model_from_text(text, "f"));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  CHECK_THAT(refusal(R"({"parameters": []})"), Contains("f: parameters: is not a list"));
  CHECK_THAT(refusal(R"({"parameters": [3]})"), Contains("parameters[0]: is not an object"));
  CHECK_THAT(refusal(R"({"parameters": [{"shape": [1]}]})"), Contains("parameters[0].name"));
  CHECK_THAT(refusal(R"({"parameters": [{"name": "a", "shape": [-1]}]})"),
             Contains("parameters[0].shape: has -1, which is not a size"));
  CHECK_THAT(refusal(R"({"parameters": [{"name": "a", "shape": [16777216, 16777217]}]})"),
             Contains("more than 2^48"));
  CHECK_THAT(refusal(R"({"parameters": [{"name": "a", "shape": [1]}],
                        "largest_layer_parameters": "x"})"),
             Contains("largest_layer_parameters"));
}
