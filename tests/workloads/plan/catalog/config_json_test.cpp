// Rules: a model written as a config.json is read back as the same model.
#include "workloads/plan/catalog/config_json.hpp"

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/other_model.hpp"

using namespace highwater;

TEST_CASE("config_json: every preset of transformers comes back", "[plan][config]") {
  for (const ModelSpec& preset : model_presets()) {
    if (preset.config.family().class_prefix.empty() ||
        preset.config.family().traits.torchtitan_style) {
      continue;
    }
    CAPTURE(preset.name);
    const std::string text = config_json(preset);
    CAPTURE(text);
    CHECK(shape_of(model_from_json(boost::json::parse(text), "test")) == shape_of(preset));
    CHECK(config_json(model_from_json(boost::json::parse(text), "test")) == text);
  }
}

TEST_CASE("config_json: a model from a file keeps what this program does not read",
          "[plan][config]") {
  const ModelSpec spec = model_from_json(
      boost::json::parse(R"({"model_type": "gpt2", "n_layer": 2, "summary_type": "first"})"), "f");
  CHECK(config_json(spec) == R"({"model_type":"gpt2","n_layer":2,"summary_type":"first"})");
}

TEST_CASE("other model: sizes are known by the names that most architectures use",
          "[plan][config]") {
  const auto shape = [](const char* text) {
    return read_other(boost::json::parse(text).as_object()).shape;
  };
  const ModelShape phi = shape(
      R"({"model_type": "phi3", "hidden_size": 512, "num_hidden_layers": 4, "vocab_size": 100,
          "num_attention_heads": 8, "num_key_value_heads": 2, "intermediate_size": 1024})");
  CHECK(phi == ModelShape{.layers = 4,
                          .hidden = 512,
                          .heads = 8,
                          .kv_heads = 2,
                          .head_dim = 64,
                          .ffn = 1024,
                          .vocab = 100});
  const ModelShape both = shape(
      R"({"model_type": "x", "hidden_size": 1, "text_config": {"d_model": 64, "n_layers": 3}})");
  CHECK(both.hidden == 64);
  CHECK(both.layers == 3);
  CHECK(shape(R"({"model_type": "vit", "hidden_size": "wide"})") == ModelShape{});
}
