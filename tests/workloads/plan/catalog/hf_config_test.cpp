// A config.json is read as transformers reads it, and a wrong one is reported completely.
#include "workloads/plan/catalog/hf_config.hpp"

#include <algorithm>
#include <fstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/temp_dir.hpp"
#include "tests/workloads/plan/catalog/model_text.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/published_weights.hpp"

using namespace highwater;
using test::model_from_text;
using test::model_text_error;
using test::reference_models;
namespace json = boost::json;
using Catch::Matchers::Contains;

namespace {

template <class Config>
Config config_of(const std::string& text) {
  return model_from_text(text).config.as<Config>();
}

}  // namespace

TEST_CASE("config.json: small configs of every family count as transformers builds them",
          "[models]") {
  const json::array models = reference_models("transformers_counts.json");
  REQUIRE(models.size() == 84);
  for (const json::value& model : models) {
    INFO(model.at("class").as_string().c_str() << " " << json::serialize(model.at("config")));
    const ModelSpec spec = model_from_json(model.at("config"), "config.json");
    CHECK(parameter_count(spec.config).trainable() == model.at("parameters").as_int64());
    CHECK(shape_of(spec).tied == model.at("tied").as_bool());
    CHECK(model_problems(spec).empty());
  }
}

TEST_CASE("config.json: absent fields are the family's defaults, and said to be so", "[models]") {
  CHECK(config_of<Gpt2Config>(R"({"model_type": "gpt2"})") == Gpt2Config{});
  CHECK(config_of<Gpt2Config>(R"({"architectures": ["GPT2LMHeadModel"], "n_inner": null})") ==
        Gpt2Config{});
  CHECK(config_of<LlamaConfig>(R"({"model_type": "gemma"})") == gemma_defaults());
  CHECK(config_of<OptConfig>(R"({"model_type": "opt"})") == OptConfig{});
  CHECK(config_of<MixtralConfig>(R"({"model_type": "mixtral"})") == MixtralConfig{});
  CHECK(config_of<DeepseekV3Config>(R"({"model_type": "deepseek_v3"})") == DeepseekV3Config{});
}

TEST_CASE("config.json: what the family's defaults fill is listed", "[models]") {
  const test::TempDir folder;
  const auto used = [&](const std::string& text) {
    const std::string path = (folder / "config.json").string();
    std::ofstream(path) << text;
    return read_model(path).family_defaults;
  };
  const auto all = used(R"({"model_type": "llama"})");
  CHECK(std::ranges::count(all, "hidden_size 4096") == 1);
  CHECK(std::ranges::count(all, "tie_word_embeddings false") == 1);
  CHECK(std::ranges::none_of(all, [](const std::string& key) {
    return key.starts_with("head_dim");  // follows from the others
  }));
  CHECK(used(R"({"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024, "n_embd": 768,
                 "num_hidden_layers": 12, "n_head": 12, "activation_function": "gelu_new",
                 "resid_pdrop": 0.1, "embd_pdrop": 0.1, "attn_pdrop": 0.1,
                 "tie_word_embeddings": true, "scale_attn_weights": true,
                 "scale_attn_by_inverse_layer_idx": false})") ==
        std::vector<std::string>{"reorder_and_upcast_attn false"});
  CHECK(
      used(R"({"family": "llama", "layers": 2, "hidden": 64, "heads": 4, "vocab": 100})").empty());
}

TEST_CASE("config.json: null is refused where transformers refuses it", "[models]") {
  const std::string error = model_text_error(
      R"({"model_type": "llama", "hidden_size": null, "hidden_act": null, "head_dim": null,
          "tie_word_embeddings": null, "attention_dropout": null, "pad_token_id": null})");
  for (const auto* const key :
       {"hidden_size", "hidden_act", "tie_word_embeddings", "attention_dropout"}) {
    CHECK_THAT(error, Contains(std::string(key) + " is null, which transformers refuses"));
  }
  CHECK_THAT(error, !Contains("head_dim") && !Contains("pad_token_id"));
}

TEST_CASE("config.json: an explicit null is not the default where it has a meaning", "[models]") {
  const auto mistral = config_of<LlamaConfig>(
      R"({"model_type": "mistral", "sliding_window": null, "num_key_value_heads": null})");
  CHECK_FALSE(mistral.sliding_window);
  CHECK(kv_heads_of(mistral) == 32);
  CHECK_FALSE(config_of<DeepseekV3Config>(R"({"model_type": "deepseek_v3", "q_lora_rank": null})")
                  .q_lora_rank);
}

TEST_CASE("config.json: names that transformers maps", "[models]") {
  const auto gpt2 = config_of<Gpt2Config>(
      R"({"model_type": "gpt2", "hidden_size": 64, "num_attention_heads": 4})");
  CHECK(gpt2.n_embd == 64);
  CHECK(gpt2.n_head == 4);
  const auto bloom =
      config_of<BloomConfig>(R"({"model_type": "bloom", "n_embed": 128, "num_hidden_layers": 3})");
  CHECK(bloom.hidden_size == 128);
  CHECK(bloom.n_layer == 3);
}

TEST_CASE("config.json: rope in the words of transformers 4 and 5", "[models]") {
  const auto old = config_of<LlamaConfig>(
      R"({"model_type": "llama", "rope_theta": 500000.0,
          "rope_scaling": {"type": "dynamic", "factor": 2.0}})");
  const auto current = config_of<LlamaConfig>(
      R"({"model_type": "llama",
          "rope_parameters": {"rope_type": "dynamic", "factor": 2, "rope_theta": 500000}})");
  CHECK(old == current);
  CHECK(current.rope_parameters.rope_type == RopeType::dynamic);
}

TEST_CASE("config.json: which layers have a window", "[models]") {
  const auto qwen = config_of<LlamaConfig>(
      R"({"model_type": "qwen2", "use_sliding_window": true, "sliding_window": 16,
          "max_window_layers": 1})");
  CHECK_FALSE(window_of(qwen, 0));
  CHECK(window_of(qwen, 1) == 16);
  CHECK(window_of(mistral_defaults(), 0) == 4096);
  CHECK_FALSE(window_of(qwen2_defaults(), 31));
}

TEST_CASE("config.json: T5's feed-forward is taken apart", "[models]") {
  const auto gated = config_of<T5Config>(
      R"({"model_type": "t5", "feed_forward_proj": "gated-gelu", "tie_word_embeddings": false})");
  CHECK(gated.is_gated_act);
  CHECK(gated.dense_act_fn == Activation::gelu_new);
  CHECK_FALSE(gated.scale_decoder_outputs);
}

TEST_CASE("config.json: GPT-Neo's layers from types or one by one", "[models]") {
  const auto typed = config_of<GptNeoConfig>(
      R"({"model_type": "gpt_neo", "num_layers": 3,
          "attention_types": [[["global"], 1], [["local", "global"], 1]]})");
  const auto listed = config_of<GptNeoConfig>(
      R"({"model_type": "gpt_neo", "num_layers": 3,
          "attention_layers": ["global", "local", "global"]})");
  CHECK(typed == listed);
  CHECK(attention_of(typed, 1) == GptNeoAttention::local);
  CHECK(attention_of(GptNeoConfig{}, 2) == GptNeoAttention::global);
}

TEST_CASE("config.json: every bad field is named at once", "[models]") {
  const std::string error = model_text_error(
      R"({"model_type": "llama", "hidden_size": "big", "num_attention_heads": 12.5,
          "hidden_act": "wobble", "mlp_bias": 3, "rope_scaling": {"rope_type": "spiral"},
          "vocab_size": 1e15, "quantization_config": {}})");
  for (const auto* const part :
       {"test.json", "hidden_size is \"big\"", "num_attention_heads is 12.5",
        "hidden_act is \"wobble\"", "mlp_bias is 3", "rope_scaling.rope_type is 'spiral'",
        "vocab_size is 1000000000000000, which is too large", "quantization_config"}) {
    CHECK_THAT(error, Contains(part));
  }
}

TEST_CASE("config.json: fp8 weights are trained in the plan's precision, other methods refused",
          "[models]") {
  CHECK_NOTHROW(model_from_text(
      R"({"model_type": "llama", "quantization_config": {"quant_method": "fp8"}})"));
  CHECK_THAT(model_text_error(
                 R"({"model_type": "llama", "quantization_config": {"quant_method": "awq"}})"),
             Contains("--quantize nf4 and --lora"));
}

TEST_CASE("config.json: weights that bitsandbytes published", "[models]") {
  const auto published = [](const std::string& fields) {
    return published_weights(model_from_text(R"({"model_type": "llama", "quantization_config": {)" +
                                             fields + R"(, "quant_method": "bitsandbytes"}})"));
  };
  const auto in_4bit = published(
      R"("load_in_4bit": true, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": true,
         "bnb_4bit_compute_dtype": "bfloat16", "llm_int8_skip_modules": null)");
  REQUIRE(in_4bit);
  CHECK(in_4bit->format == "nf4");
  CHECK(in_4bit->double_quant);
  CHECK(in_4bit->compute_dtype == "bf16");
  CHECK(in_4bit->storage == "uint8");
  CHECK_FALSE(in_4bit->quantizes_head);
  const auto in_8bit =
      published(R"("_load_in_8bit": true, "llm_int8_skip_modules": ["model.layers.1"])");
  REQUIRE(in_8bit);
  CHECK(in_8bit->format == "int8");
  CHECK(in_8bit->unquantized == std::vector<std::string>{"model.layers.1"});
  CHECK(in_8bit->quantizes_head);
  CHECK_FALSE(published(R"("load_in_4bit": false)"));
  CHECK_THAT(
      model_text_error(R"({"model_type": "llama", "quantization_config": {"load_in_4bit": true,
        "bnb_4bit_quant_storage": "int3", "quant_method": "bitsandbytes"}})"),
      Contains("is int3"));
}

TEST_CASE("config.json: what is not simulated is refused, not ignored", "[models]") {
  CHECK_THAT(model_text_error(
                 R"({"model_type": "llama", "architectures": ["LlamaForTokenClassification"]})"),
             Contains("language-model head"));
  CHECK_THAT(model_text_error(R"({"model_type": "mixtral", "router_jitter_noise": 0.1,
                    "output_router_logits": true})"),
             Contains("jitter is not simulated") && Contains("balancing loss is not simulated"));
}

TEST_CASE("config.json: a sound configuration that the generator lacks is left to PyTorch",
          "[models]") {
  const auto gap_of = [](std::string_view text) {
    const ModelSpec spec = model_from_text(text, "test.json");
    REQUIRE(is_other(spec.config));
    return why_not_covered(spec);
  };
  CHECK_THAT(gap_of(R"({"model_type": "llama", "hidden_act": "mish"})"), Contains("\"mish\""));
  CHECK_THAT(gap_of(R"({"model_type": "olmo", "clip_qkv": 8.0})"), Contains("clip_qkv is 8"));
  CHECK_THAT(gap_of(R"({"model_type": "mixtral", "output_router_logits": true})"),
             Contains("balancing loss"));
  CHECK_THAT(gap_of(R"({"model_type": "llama",
                        "architectures": ["LlamaForTokenClassification"]})"),
             Contains("names LlamaForTokenClassification") && Contains("language-model head"));
  CHECK_THROWS_WITH(model_from_text(R"({"model_type": "llama", "hidden_size": "big"})", "t.json"),
                    Contains("hidden_size is"));
}

TEST_CASE("config.json: the head is that of the class that it names", "[models]") {
  const auto read = [](const std::string& type, const std::string& name, const std::string& more) {
    return model_from_text(
        fmt::format(R"({{"model_type": "{}", "architectures": ["{}"]{}}})", type, name, more),
        "test.json");
  };
  CHECK(read("llama", "LlamaForCausalLM", "").labels == 0);
  CHECK(read("gpt2", "GPT2LMHeadModel", "").labels == 0);
  CHECK(read("llama", "LlamaForSequenceClassification", "").labels == 2);
  CHECK(read("bert", "BertForSequenceClassification", R"(, "num_labels": 5)").labels == 5);
  CHECK(read("gpt2", "GPT2ForSequenceClassification",
             R"(, "id2label": {"0": "a", "1": "b", "2": "c"})")
            .labels == 3);
  // Losses that are no cross entropy of classes, and heads that the generator lacks.
  const auto is_left = [&](const std::string& type, const std::string& name,
                           const std::string& more = "") {
    return is_other(read(type, name, more).config);
  };
  CHECK(is_left("llama", "LlamaForSequenceClassification", R"(, "num_labels": 1)"));
  CHECK(is_left("llama", "LlamaForSequenceClassification",
                R"(, "problem_type": "multi_label_classification")"));
  CHECK(is_left("bert", "BertLMHeadModel"));
  CHECK(is_left("bert", "BertModel"));
  CHECK(is_left("gpt2", "GPT2DoubleHeadsModel"));
  CHECK(is_left("t5", "T5EncoderModel"));
  CHECK_FALSE(is_left("bert", "BertForMaskedLM"));
  CHECK_FALSE(is_left("t5", "T5ForConditionalGeneration"));
}

TEST_CASE("config.json: which layers of a decoder have a window or positions", "[models]") {
  const auto layers = [](const LlamaConfig& config, auto has) {
    std::string text;
    for (std::int64_t layer = 0; layer < config.num_hidden_layers; ++layer) {
      text += has(config, layer) ? '1' : '0';
    }
    return text;
  };
  const auto windows = [&](const std::string& text) {
    return layers(config_of<LlamaConfig>(text), [](const LlamaConfig& config, std::int64_t layer) {
      return window_of(config, layer).has_value();
    });
  };
  CHECK(windows(R"({"model_type": "gemma2", "num_hidden_layers": 4})") == "1010");
  CHECK(windows(R"({"model_type": "cwm", "num_hidden_layers": 5})") == "01110");
  CHECK(windows(R"({"model_type": "olmo3", "num_hidden_layers": 5})") == "11101");
  CHECK(windows(R"({"model_type": "cohere2", "num_hidden_layers": 3,
                    "layer_types": ["full_attention", "sliding_attention", "full_attention"]})") ==
        "010");
  CHECK(windows(R"({"model_type": "exaone4", "num_hidden_layers": 4, "sliding_window": null})") ==
        "0000");
  CHECK(layers(config_of<LlamaConfig>(R"({"model_type": "smollm3", "num_hidden_layers": 5})"),
               is_rotated) == "11101");
  CHECK(layers(config_of<LlamaConfig>(R"({"model_type": "exaone4", "num_hidden_layers": 4})"),
               is_rotated) == "1110");
}

TEST_CASE("config.json: what is no covered model says what is", "[models]") {
  CHECK_THAT(model_text_error(R"({"model_type": "electra"})"),
             Contains("'electra'") && Contains("gpt2, opt"));
  CHECK_THAT(model_text_error("{}"), Contains("model_type: is missing"));
  CHECK_THAT(model_text_error("[1]"), Contains("not a JSON object"));
  CHECK_THAT(model_text_error(R"({"family": "llama", "layers": 2, "hiden": 64, "heads": 4})"),
             Contains("hiden") && Contains("nearest: 'hidden'") && Contains("vocab is missing"));
}
