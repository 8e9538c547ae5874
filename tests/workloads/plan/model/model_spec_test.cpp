// Models: every preset has the published number of parameters, configs are read as transformers
// reads them, and wrong ones are reported completely.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "traces/error.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/named_model.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/catalog/published_models.hpp"
#include "workloads/plan/model/families/families.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/model/published_weights.hpp"

using namespace highwater;
namespace json = boost::json;
using Catch::Matchers::Contains;

namespace {

json::array read_array(const std::string& name) {
  std::ifstream file(HIGHWATER_TEST_DATA "/models/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  return json::parse(text.str()).as_array();
}

std::int64_t kind(const json::value& model, std::string_view name) {
  const json::value* const value = model.at("params_by_kind").as_object().if_contains(name);
  return value == nullptr ? 0 : value->as_int64();
}

ModelSpec from_text(const std::string& text) {
  return model_from_json(json::parse(text), "test.json");
}

std::string input_error(const std::string& text) {
  try {
    from_text(text);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

template <class Config>
Config config_of(const std::string& text) {
  return from_text(text).config.as<Config>();
}

std::vector<std::string> problems_of(ModelConfig config) {
  return model_problems({"test", "", std::move(config)});
}

}  // namespace

TEST_CASE("presets: all 43 reference models have their published parameters, by kind", "[models]") {
  const json::array models = read_array("reference.json");
  REQUIRE(models.size() == 43);
  for (const json::value& model : models) {
    const std::string name(model.at("name").as_string().c_str());
    INFO(name);
    const ModelSpec& spec = model_preset(name);
    const ParameterCount count = parameter_count(spec.config);
    CHECK(count.total() == model.at("computed_params").as_int64());
    CHECK(count.embedding == kind(model, "embedding"));
    CHECK(count.linear == kind(model, "linear"));
    CHECK(count.norm == kind(model, "norm"));
    CHECK(count.bias + count.buffer == kind(model, "bias"));
    CHECK(family_name(spec) == model.at("family").as_string());
    CHECK(model_problems(spec).empty());
  }
}

TEST_CASE("records: a flat record describes the same model as the preset", "[models]") {
  for (const json::value& model : read_array("reference.json")) {
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

// Made on the meta device from the configuration by transformers 5.23.
TEST_CASE("presets: published models have the parameters that transformers makes of them",
          "[models]") {
  std::map<std::string, std::int64_t> counts;
  for (const json::value& row : read_array("published_counts.json")) {
    counts[row.at("name").as_string().c_str()] = row.at("parameters").as_int64();
  }
  for (const PublishedModel& model : published_models()) {
    CAPTURE(model.name);
    REQUIRE(counts.contains(std::string(model.name)));
    const ModelSpec& spec = model_preset(model.hub_id);
    CHECK(spec.name == model.name);
    if (!is_other(spec.config)) {
      CHECK(parameter_count(spec.config).total() == counts[spec.name]);
    }
  }
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
  CHECK_THROWS_WITH(model_preset("google/electra-base-discriminator"),
                    Contains("none of a similar name") && Contains("give its config.json") &&
                        !Contains("t5-base"));
  CHECK_THROWS_WITH(model_preset("mistralai/Mistral-7B-v0.2"), Contains("'mistral-7b'"));
}

TEST_CASE("config.json: small configs of every family count as transformers builds them",
          "[models]") {
  const json::array models = read_array("transformers_counts.json");
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
  const std::string error = input_error(
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
  const std::string error = input_error(
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
  CHECK_NOTHROW(
      from_text(R"({"model_type": "llama", "quantization_config": {"quant_method": "fp8"}})"));
  CHECK_THAT(
      input_error(R"({"model_type": "llama", "quantization_config": {"quant_method": "awq"}})"),
      Contains("--quantize nf4 and --lora"));
}

TEST_CASE("config.json: weights that bitsandbytes published", "[models]") {
  const auto published = [](const std::string& fields) {
    return published_weights(from_text(R"({"model_type": "llama", "quantization_config": {)" +
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
  CHECK_THAT(input_error(R"({"model_type": "llama", "quantization_config": {"load_in_4bit": true,
        "bnb_4bit_quant_storage": "int3", "quant_method": "bitsandbytes"}})"),
             Contains("is int3"));
}

TEST_CASE("config.json: what is not simulated is refused, not ignored", "[models]") {
  CHECK_THAT(input_error(
                 R"({"model_type": "llama", "architectures": ["LlamaForSequenceClassification"]})"),
             Contains("language-model head"));
  const auto problems =
      model_problems(from_text(R"({"model_type": "mixtral", "router_jitter_noise": 0.1,
                    "output_router_logits": true})"));
  CHECK(problems.size() == 2);
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
  CHECK_THAT(gap_of(R"({"model_type": "llama",
                        "architectures": ["LlamaForSequenceClassification"]})"),
             Contains("language-model head"));
  CHECK_THROWS_WITH(model_from_text(R"({"model_type": "llama", "hidden_size": "big"})", "t.json"),
                    Contains("hidden_size is"));
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
  CHECK_THAT(input_error(R"({"model_type": "electra"})"),
             Contains("'electra'") && Contains("gpt2, opt"));
  CHECK_THAT(input_error("{}"), Contains("model_type: is missing"));
  CHECK_THAT(input_error("[1]"), Contains("not a JSON object"));
  CHECK_THAT(input_error(R"({"family": "llama", "layers": 2, "hiden": 64, "heads": 4})"),
             Contains("hiden") && Contains("nearest: 'hidden'") && Contains("vocab is missing"));
}

TEST_CASE("recordings: a description with family and config", "[models]") {
  const ModelSpec plain = from_text(
      R"({"family": "plain", "source": "plain",
          "config": {"vocab": 32000, "dim": 768, "ffn": 3072, "layers": 12, "heads": 12,
                     "kv_heads": 12}})");
  CHECK(plain.config.as<TorchtitanConfig>() == TorchtitanConfig{.kv_heads = 12});
  const ModelSpec gpt2 = from_text(
      R"({"family": "gpt2", "source": "transformers", "config": {"model_type": "gpt2"}})");
  CHECK(gpt2.config.as<Gpt2Config>() == Gpt2Config{});
  CHECK_THAT(input_error(R"({"family": "plain", "config": {"vocab": 1}})"),
             Contains("config.dim is missing"));
}

TEST_CASE("files: errors have a position, names come from the file", "[models]") {
  const test::TempDir folder;
  const std::string broken = (folder / "broken.json").string();
  std::ofstream(broken) << R"({"model_type": "gpt2", )";
  CHECK_THROWS_WITH(read_model(broken), Contains("byte 23") && Contains("not JSON"));
  const std::string twice = (folder / "twice.json").string();
  std::ofstream(twice) << "{} {}";
  CHECK_THROWS_WITH(read_model(twice), Contains("byte 3"));
  CHECK_THROWS_AS(read_model((folder / "absent.json").string()), InputError);
  const std::string small = (folder / "my-gpt2.json").string();
  std::ofstream(small) << R"({"model_type": "gpt2", "n_layer": 2})";
  CHECK(read_model(small).name == "my-gpt2");
  CHECK(read_model(small).source == small);
}

TEST_CASE("files: a folder is its config.json, and no path is taken for a name", "[models]") {
  const test::TempDir folder;
  const std::string path = folder.path().string();
  CHECK_THROWS_WITH(named_model(path), Contains("is a folder without a config.json"));
  std::ofstream(folder / "config.json") << R"({"model_type": "gpt2", "n_layer": 2})";
  CHECK(named_model(path).config.as<Gpt2Config>().n_layer == 2);
  CHECK(named_model(path).family_defaults.size() > 5);
  CHECK(named_model("gpt2").family_defaults.empty());
  CHECK_THROWS_WITH(named_model("/no/such/model"), Contains("does not exist"));
  CHECK_THROWS_WITH(named_model("/dev/null"), Contains("not JSON"));
  CHECK_THROWS_WITH(named_model("/dev/zero"), Contains("larger than 16 MiB"));
}

TEST_CASE("recordings: every model of the shared recordings is read", "[models][shared]") {
  namespace fs = std::filesystem;
  const fs::path truth = HIGHWATER_SHARED_DATA "/truth";
  if (!fs::exists(truth)) {
    WARN("skipped: shared data absent");
    return;
  }
  int compared = 0;
  for (const auto& entry : fs::recursive_directory_iterator(truth)) {
    if (entry.path().extension() != ".json") {
      continue;
    }
    std::ifstream file(entry.path());
    const json::value recording =
        json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
    INFO(entry.path());
    const ModelSpec spec = model_from_json(recording.at("model"), entry.path().string());
    CHECK(model_problems(spec).empty());
    if (recording.at("case").at("overrides").as_object().empty()) {
      const ModelSpec& preset = model_preset(recording.at("case").at("model").as_string().c_str());
      CHECK(parameter_count(spec.config) == parameter_count(preset.config));
      ++compared;
    }
  }
  CHECK(compared > 0);
}

TEST_CASE("problems: all at once, with the remedy", "[models]") {
  LlamaConfig config;
  config.hidden_size = 100;
  config.num_attention_heads = 12;
  config.num_key_value_heads = 5;
  config.vocab_size = 0;
  config.attention_dropout = 1.5;
  const auto problems = problems_of(config);
  REQUIRE(problems.size() == 4);
  CHECK(problems[0] == "vocab_size is 0; give at least 1");
  CHECK_THAT(problems[1], Contains("num_attention_heads (12) does not divide hidden_size (100)"));
  CHECK_THAT(problems[2],
             Contains("num_key_value_heads (5) does not divide num_attention_heads (12)"));
  CHECK_THAT(problems[3], Contains("attention_dropout is 1.5"));
}

TEST_CASE("problems: rules of single families", "[models]") {
  CHECK(problems_of(CodegenConfig{.n_embd = 60, .n_head = 6, .rotary_dim = 4}).size() == 1);
  CHECK(problems_of(GptJConfig{.rotary_dim = 7}).size() == 1);
  CHECK(problems_of(MixtralConfig{.num_experts_per_tok = 9}).size() == 1);
  CHECK(problems_of(DeepseekV3Config{.n_group = 7, .topk_group = 8}).size() == 2);
  CHECK(problems_of(OptConfig{.layerdrop = 0.1}).size() == 1);
  CHECK(problems_of(GptNeoConfig{.attention_layers = {GptNeoAttention::global}}).size() == 1);
  CHECK(problems_of(Gpt2Config{.n_layer = 0, .n_head = 0}).size() == 2);
}

TEST_CASE("problems: absurd sizes are refused, the largest real ones are not", "[models]") {
  CHECK(model_problems(model_preset("llama-3.1-405b")).empty());
  CHECK(problems_of(TorchtitanConfig{.dim = std::int64_t{1} << 30,
                                     .ffn = std::int64_t{1} << 30,
                                     .heads = 1,
                                     .kv_heads = 1})
            .size() == 1);
  CHECK(problems_of(Gpt2Config{.vocab_size = std::int64_t{1} << 40}).size() == 1);
}

TEST_CASE("torchtitan: a LLaMA becomes a plain decoder of the same size", "[models]") {
  const auto& llama = model_preset("llama-3-8b").config.as<LlamaConfig>();
  CHECK(torchtitan_problems(llama).empty());
  CHECK(to_torchtitan(llama) == model_preset("plain-8b").config.as<TorchtitanConfig>());
  CHECK(parameter_count(to_torchtitan(llama)) == parameter_count(llama));
  const auto& tied = model_preset("llama-3.2-1b").config.as<LlamaConfig>();
  CHECK(torchtitan_problems(tied).size() == 1);
  CHECK(torchtitan_problems(gemma_defaults()).size() >= 3);
}

TEST_CASE("dropout: one value for all of a model's probabilities", "[models]") {
  ModelConfig config = Gpt2Config{};
  set_dropout(config, 0.0);
  const auto& gpt2 = config.as<Gpt2Config>();
  CHECK(gpt2.resid_pdrop + gpt2.embd_pdrop + gpt2.attn_pdrop == 0.0);
}

TEST_CASE("shape: derived sizes follow the config", "[models]") {
  CHECK(shape_of(ModelConfig(Gpt2Config{.n_embd = 64, .n_head = 4})).ffn == 256);
  CHECK(shape_of(ModelConfig(GptBigCodeConfig{})).kv_heads == 1);
  CHECK(shape_of(ModelConfig(T5Config{})).decoder_layers == 6);
  CHECK(shape_of(model_preset("deepseek-v3")).head_dim == 192);
  CHECK(ModelConfig(Gpt2Config{}).family().traits.position_table);
  CHECK_FALSE(ModelConfig(LlamaConfig{}).family().traits.position_table);
}
