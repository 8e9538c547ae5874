#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "traces/error.hpp"
#include "workloads/plan/catalog/hf_config.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/options/peft_axis.hpp"
#include "workloads/sources/observed_parts.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// A loop as the recorder calls it, and the framework of plans.
struct LoopWord {
  std::string_view loop;
  std::string_view framework;
};

constexpr std::array kLoops{LoopWord{"plain", "hf"},
                            LoopWord{"trainer", "trainer"},
                            LoopWord{"SFTTrainer", "trl-sft"},
                            LoopWord{"lightning", "lightning"},
                            LoopWord{"torchtitan", "torchtitan"},
                            LoopWord{"torchtune", "torchtune"},
                            LoopWord{"deepspeed", "deepspeed"},
                            LoopWord{"megatron", "megatron"}};

void read_loop(const ObservedFacts& facts, SourceKeys& keys) {
  if (runs_other_loop_of_trl(facts)) {
    return;
  }
  const std::string loop = facts.text("loop").value_or("plain");
  const auto known = std::ranges::find(kLoops, loop, &LoopWord::loop);
  if (known != kLoops.end()) {
    keys.use("loop", loop, "framework", std::string(known->framework));
  } else if (loop == "accelerate" && facts.text("strategy.kind").value_or("").starts_with("fsdp")) {
    keys.use("loop", loop, "framework", "accelerate-fsdp2");
  } else if (loop == "accelerate") {
    keys.use("loop", loop, "framework", "accelerate");
  } else {
    keys.add_not_supported("loop", loop, "simulated as a plain loop");
  }
}

/// Where the configuration is from and what wrote it.
bool tells_origin(std::string_view key) {
  constexpr std::array<std::string_view, 3> kKeys{"transformers_version", "_name_or_path",
                                                  "_commit_hash"};
  return std::ranges::find(kKeys, key) != kKeys.end();
}

json::object without_origin(json::object config) {
  for (const auto& [key, value] : json::object(config)) {
    if (tells_origin(key)) {
      config.erase(key);
    }
  }
  return config;
}

/// The class that ran. A configuration names the one whose weights were loaded, or none.
json::object with_class(json::object config, std::string_view name) {
  constexpr std::string_view kSharded =
      "FSDP";  // torch 2.15, fully_shard: class FSDPLlamaForCausalLM
  if (name.starts_with(kSharded)) {
    name.remove_prefix(kSharded.size());
  }
  if (!name.empty()) {
    config["architectures"] = json::array{name};
  }
  return config;
}

/// A known name says the same in one word, unless the model has another head. Of a model without a
/// family only some sizes are known here, so that two may look alike.
std::string model_word(const json::object& config, const std::string& file) {
  const std::string text = json::serialize(config);
  const ModelSpec spec = model_from_text(text, file);
  const auto preset = std::ranges::find(model_presets(), spec.config, &ModelSpec::config);
  const bool is_known =
      preset != model_presets().end() && spec.labels == 0 && !is_other(spec.config);
  return is_known ? preset->name : text;
}

/// A model of timm or torchvision, by the name that makes it.
void read_builder(const ObservedFacts& facts, SourceKeys& keys) {
  const auto name = facts.text("model.builder.name");
  if (!name || !names_python_model(*name) || names_python_function(*name)) {
    keys.add_not_supported("model.class", facts.shown("model.class"),
                           "has no configuration of transformers; give --model FILE.py:function, a "
                           "function of yours that makes it",
                           "model");
    return;
  }
  keys.use("model.builder.name", *name, "model", *name);
  if (const auto classes = facts.whole("model.builder.classes")) {
    keys.use("model.builder.classes", std::to_string(*classes), "num-labels",
             std::to_string(*classes));
  }
}

void read_config(const ObservedFacts& facts, const std::string& file, SourceKeys& keys) {
  const json::value* const config = facts.find("model.config");
  if (config == nullptr || !config->is_object()) {
    return read_builder(facts, keys);
  }
  const json::object model =
      with_class(without_origin(config->get_object()), facts.text("model.class").value_or(""));
  keys.use("model.config", facts.shown("model.class"), "model", model_word(model, file));
}

struct AttentionWord {
  std::string_view implementation;
  std::string_view word;
};

void read_attention(const ObservedFacts& facts, SourceKeys& keys) {
  constexpr std::array kWords{AttentionWord{"sdpa", "sdpa"}, AttentionWord{"eager", "eager"},
                              AttentionWord{"flash_attention_2", "sdpa-flash"},
                              AttentionWord{"flex_attention", "flex"}};
  const auto used = facts.text("model.attention");
  const auto word = std::ranges::find(kWords, used.value_or(""), &AttentionWord::implementation);
  if (word != kWords.end()) {
    keys.use("model.attention", *used, "attention", std::string(word->word));
  } else if (used) {
    keys.add_not_supported("model.attention", *used, "simulated as PyTorch's own attention");
  }
}

/// transformers 5.24, modeling_utils.py from_pretrained: a model is made on meta, and filled on the
/// host or, with device_map, on the GPU. Empty where it was filled in another way.
std::string where_loaded(const ObservedFacts& facts) {
  const std::string from = facts.text("model.moved_from").value_or("");
  return from == "cpu" ? "cpu" : from == "cuda" ? "pretrained" : "";
}

/// Where the model was made, and what was done with it before the first forward.
std::string init_word(const ObservedFacts& facts) {
  if (facts.flag("model.zero_init").value_or(false)) {
    return "device";
  }
  const std::string built = facts.text("model.built_on").value_or("");
  const std::string moved = facts.find("model.moved") == nullptr ? "" : facts.shown("model.moved");
  const auto has = [&](std::string_view what) { return moved.find(what) != std::string::npos; };
  if (has("narrowed")) {
    return "pretrained-half";
  }
  if (has("meta") || has("to_empty")) {
    return "meta";
  }
  if (built == "meta") {
    std::string loaded = where_loaded(facts);
    return loaded.empty() ? "meta" : loaded;
  }
  return built == "cuda" ? "device" : built == "cpu" ? "cpu" : "";
}

void read_init(const ObservedFacts& facts, SourceKeys& keys) {
  const std::string word = init_word(facts);
  if (!word.empty()) {
    keys.use("model.built_on",
             facts.shown("model.built_on") +
                 (facts.find("model.moved") == nullptr ? "" : ", " + facts.shown("model.moved")),
             "init", word);
  }
}

void read_compiled(const ObservedFacts& facts, SourceKeys& keys) {
  if (facts.flag("model.compiled").value_or(false)) {
    keys.use("model.compiled", "true", "compile", "true");
  }
}

/// Empty for what plans do not have.
std::string precision_word(const std::string& weights, const std::string& autocast) {
  if (autocast.empty()) {
    return weights;
  }
  if (weights == "fp32") {
    return "amp-" + autocast;
  }
  return weights == "bf16" && autocast == "bf16" ? "bf16+amp" : "";
}

std::vector<std::string> texts(const ObservedFacts& facts, const std::string& path) {
  std::vector<std::string> found;
  while (const auto text = facts.text(fmt::format("{}.{}", path, found.size()))) {
    found.push_back(*text);
  }
  return found;
}

/// Where the engine freezes modules.
bool can_freeze(const ObservedFacts& facts) {
  const std::string strategy = facts.text("strategy.kind").value_or("none");
  return runs_known_loop(facts) && (strategy == "none" || strategy == "ddp");
}

/// Modules and parameters that are not trained, or all others, whichever are fewer.
void read_untrained(const ObservedFacts& facts, SourceKeys& keys) {
  const std::vector<std::string> untrained = texts(facts, "model.untrained");
  const std::vector<std::string> trained = texts(facts, "model.trained");
  if (untrained.empty()) {
    return;
  }
  if (!can_freeze(facts)) {
    keys.add_not_supported("model.untrained", facts.shown("model.untrained"),
                           "parameters without gradients, which are simulated with them",
                           MemorySign::less);
    return;
  }
  keys.use("model.untrained", facts.shown("model.untrained"), "freeze",
           trained.size() < untrained.size() ? fmt::format("all-but:{}", fmt::join(trained, ","))
                                             : fmt::format("{}", fmt::join(untrained, ",")));
}

constexpr const char* kQuantization = "model.quantization";

/// Whether weights that are in 16 bits in the checkpoint are in fp32, as
/// prepare_model_for_kbit_training() leaves them.
bool are_others_widened(const ObservedFacts& facts) {
  const std::string others = facts.most(std::string(kQuantization) + ".others");
  const std::string weights =
      facts.text(std::string(kQuantization) + ".weights").value_or("bfloat16");
  return others == "float32" && weights != "float32";
}

void read_quantization(const ObservedFacts& facts, SourceKeys& keys) {
  const auto use = [&](const char* fact, const char* option, const std::string& word) {
    const std::string path = fmt::format("{}.{}", kQuantization, fact);
    keys.use(path, facts.shown(path), option, word);
  };
  const auto text = [&](const char* fact) {
    return facts.text(fmt::format("{}.{}", kQuantization, fact)).value_or("");
  };
  use("format", "quantize", text("format"));
  use("others", "prepare-kbit", flag_word(are_others_widened(facts)));
  if (text("format").starts_with("int8")) {
    return;
  }
  use("double_quant", "double-quant",
      flag_word(facts.flag(std::string(kQuantization) + ".double_quant").value_or(false)));
  if (const std::string type = plan_type(text("compute_dtype")); !type.empty()) {
    use("compute_dtype", "quant-compute-dtype", type);
  }
  if (const std::string type = plan_type(text("storage")); !type.empty()) {
    use("storage", "quant-storage", type);
  }
}

constexpr const char* kFloat8 = "model.float8";

void read_float8(const ObservedFacts& facts, SourceKeys& keys) {
  const std::string scales = facts.text(kFloat8).value_or("");
  if (scales == "tensorwise") {
    keys.use(kFloat8, scales, "float8", "true");
  } else if (!scales.empty()) {
    keys.add_not_supported(kFloat8, scales, "float8 with one scale a row");
  }
}

/// What most weights are in, or were before they were quantised.
std::string type_of_weights(const ObservedFacts& facts) {
  if (facts.find(kQuantization) == nullptr) {
    return facts.most("model.parameters");
  }
  return facts.text(std::string(kQuantization) + ".weights").value_or("bfloat16");
}

void read_precision(const ObservedFacts& facts, SourceKeys& keys) {
  const std::string type = type_of_weights(facts);
  const std::string autocast = facts.text("precision.autocast").value_or("");
  const std::string word = precision_word(plan_type(type), plan_type(autocast));
  const std::string value = autocast.empty() ? type : type + ", autocast in " + autocast;
  if (word.empty()) {
    keys.add_not_supported("precision", value, "--precision has no such value");
  } else {
    keys.use("precision", value, "precision", word);
  }
}

void read_adapter(const ObservedFacts& facts, const std::string& path, SourceKeys& keys) {
  const std::string kind = facts.text(path + ".kind").value_or("");
  if (const json::value* const config = facts.find(path + ".config");
      config != nullptr && config->is_object() && !axes::plain_lora(config->get_object())) {
    keys.use(path + ".config", kind, "peft", json::serialize(*config));
    return;
  }
  const auto rank = facts.whole(path + ".rank");
  if (kind != "LORA" || !rank) {
    keys.add_not_supported(path + ".kind", kind, "only LoRA is simulated");
    return;
  }
  keys.use(path + ".rank", std::to_string(*rank), "lora", std::to_string(*rank));
  if (const double dropout = facts.number(path + ".dropout").value_or(0); dropout > 0) {
    keys.use(path + ".dropout", fmt::format("{}", dropout), "lora-dropout",
             fmt::format("{}", dropout));
  }
  if (facts.flag(path + ".dora").value_or(false)) {
    keys.use(path + ".dora", "true", "dora", "true");
  }
  const std::string saved = path + ".modules_to_save";
  if (facts.find(saved) != nullptr && !(facts.flag(saved) == false)) {
    keys.add_not_supported(saved, facts.shown(saved), "not simulated");
  }
  const std::vector<std::string> targets = texts(facts, path + ".targets");
  if (!targets.empty()) {
    keys.use(path + ".targets", facts.shown(path + ".targets"), "lora-targets",
             fmt::format("{}", fmt::join(targets, ",")));
  } else if (facts.find(path + ".targets") != nullptr) {
    keys.add_not_supported(path + ".targets", facts.shown(path + ".targets"),
                           "a pattern; give --lora-targets");
  }
}

}  // namespace

std::string plan_type(const std::string& torch_type) {
  return torch_type == "float32"    ? "fp32"
         : torch_type == "bfloat16" ? "bf16"
         : torch_type == "float16"  ? "fp16"
                                    : "";
}

bool runs_known_loop(const ObservedFacts& facts) {
  const std::string loop = facts.text("loop").value_or("plain");
  return loop == "plain" || loop == "trainer" || loop == "accelerate";
}

std::string flag_word(bool value) {
  return value ? "true" : "false";
}

void read_observed_model(const ObservedFacts& facts, const std::string& file, SourceKeys& keys) {
  read_loop(facts, keys);
  read_config(facts, file, keys);
  read_compiled(facts, keys);
  read_float8(facts, keys);
  read_attention(facts, keys);
  if (facts.find(kQuantization) != nullptr) {
    read_quantization(facts, keys);
  } else if (!runs_other_loop_of_trl(facts)) {  // whose trainers load the model by themselves
    read_init(facts, keys);
  }
  read_precision(facts, keys);
  read_untrained(facts, keys);
  if (facts.find("adapters.0") != nullptr) {
    read_adapter(facts, "adapters.0", keys);
  }
  if (facts.find("adapters.1") != nullptr) {
    keys.add_not_supported("adapters", facts.shown("adapters"), "only the first is simulated");
  }
}

}  // namespace highwater
