#include "workloads/plan/catalog/presets.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "traces/edit_distance.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

using Specs = std::vector<ModelSpec>;

constexpr std::string_view kHub = "https://huggingface.co/";
/// Sizes that exist only as recordings of real PyTorch; not published as models.
constexpr std::string_view kRecordings = "size of the project's recordings, no published model";

void add(Specs& specs, std::string_view name, std::string_view hub_id, ModelConfig config) {
  specs.push_back({std::string(name), std::string(kHub).append(hub_id), std::move(config)});
}

void add_gpt2(Specs& specs) {
  add(specs, "gpt2", "openai-community/gpt2", Gpt2Config{});
  add(specs, "gpt2-medium", "openai-community/gpt2-medium",
      Gpt2Config{.n_embd = 1024, .n_layer = 24, .n_head = 16});
  add(specs, "gpt2-large", "openai-community/gpt2-large",
      Gpt2Config{.n_embd = 1280, .n_layer = 36, .n_head = 20});
  add(specs, "gpt2-xl", "openai-community/gpt2-xl",
      Gpt2Config{.n_embd = 1600, .n_layer = 48, .n_head = 25});
}

OptConfig opt(std::int64_t hidden, std::int64_t layers, std::int64_t heads) {
  return {.hidden_size = hidden,
          .num_hidden_layers = layers,
          .ffn_dim = 4 * hidden,
          .num_attention_heads = heads};
}

void add_opt(Specs& specs) {
  OptConfig opt_350m = opt(1024, 24, 16);
  opt_350m.word_embed_proj_dim = 512;
  opt_350m.do_layer_norm_before = false;
  add(specs, "opt-125m", "facebook/opt-125m", opt(768, 12, 12));
  add(specs, "opt-350m", "facebook/opt-350m", opt_350m);
  add(specs, "opt-1.3b", "facebook/opt-1.3b", opt(2048, 24, 32));
  add(specs, "opt-2.7b", "facebook/opt-2.7b", opt(2560, 32, 32));
  add(specs, "opt-6.7b", "facebook/opt-6.7b", opt(4096, 32, 32));
  add(specs, "opt-13b", "facebook/opt-13b", opt(5120, 40, 40));
}

void add_bloom(Specs& specs) {
  const auto bloom = [](std::int64_t hidden, std::int64_t layers, std::int64_t heads) {
    return BloomConfig{.hidden_size = hidden, .n_layer = layers, .n_head = heads};
  };
  add(specs, "bloom-560m", "bigscience/bloom-560m", bloom(1024, 24, 16));
  add(specs, "bloom-1b1", "bigscience/bloom-1b1", bloom(1536, 24, 16));
  add(specs, "bloom-3b", "bigscience/bloom-3b", bloom(2560, 30, 32));
  add(specs, "bloom-7b1", "bigscience/bloom-7b1", bloom(4096, 30, 32));
  add(specs, "bloom-176b", "bigscience/bloom", bloom(14336, 70, 112));
}

void add_gpt_neo(Specs& specs) {
  const auto neo = [](std::int64_t hidden, std::int64_t layers, std::int64_t heads) {
    return GptNeoConfig{.hidden_size = hidden, .num_layers = layers, .num_heads = heads};
  };
  add(specs, "gpt-neo-125M", "EleutherAI/gpt-neo-125m", neo(768, 12, 12));
  add(specs, "gpt-neo-1.3B", "EleutherAI/gpt-neo-1.3B", neo(2048, 24, 16));
  add(specs, "gpt-neo-2.7B", "EleutherAI/gpt-neo-2.7B", neo(2560, 32, 20));
}

void add_codegen_and_gptj(Specs& specs) {
  add(specs, "codegen-350M", "Salesforce/codegen-350M-nl",
      CodegenConfig{
          .vocab_size = 51200, .n_embd = 1024, .n_layer = 20, .n_head = 16, .rotary_dim = 32});
  add(specs, "codegen-2B", "Salesforce/codegen-2B-nl",
      CodegenConfig{
          .vocab_size = 51200, .n_embd = 2560, .n_layer = 32, .n_head = 32, .rotary_dim = 64});
  add(specs, "gptj-6b", "EleutherAI/gpt-j-6b", GptJConfig{});
  specs.push_back({"gptj-tiny", std::string(kRecordings),
                   GptJConfig{.n_embd = 1024, .n_layer = 4, .n_head = 8, .rotary_dim = 64}});
}

void add_biogpt(Specs& specs) {
  add(specs, "biogpt", "microsoft/biogpt", BioGptConfig{});
  add(specs, "biogpt-large", "microsoft/BioGPT-Large",
      BioGptConfig{.vocab_size = 57717,
                   .hidden_size = 1600,
                   .num_hidden_layers = 48,
                   .num_attention_heads = 25,
                   .intermediate_size = 6400,
                   .max_position_embeddings = 2048});
}

void add_gpt_bigcode(Specs& specs) {
  add(specs, "santacoder", "bigcode/gpt_bigcode-santacoder",
      GptBigCodeConfig{
          .vocab_size = 49280, .n_positions = 2048, .n_embd = 2048, .n_layer = 24, .n_head = 16});
  add(specs, "starcoderbase-1b", "bigcode/starcoderbase-1b",
      GptBigCodeConfig{
          .vocab_size = 49152, .n_positions = 8192, .n_embd = 2048, .n_layer = 24, .n_head = 16});
  add(specs, "tiny_starcoder_py", "bigcode/tiny_starcoder_py",
      GptBigCodeConfig{
          .vocab_size = 49152, .n_positions = 8192, .n_embd = 768, .n_layer = 20, .n_head = 12});
}

/// The sizes in which decoders of this shape differ.
struct Size {
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
};

LlamaConfig sized(LlamaConfig config, const Size& size) {
  config.hidden_size = size.hidden;
  config.intermediate_size = size.ffn;
  config.num_hidden_layers = size.layers;
  config.num_attention_heads = size.heads;
  config.num_key_value_heads = size.kv_heads;
  return config;
}

void add_llama_1_and_2(Specs& specs) {
  const LlamaConfig first{};
  LlamaConfig second{};
  second.max_position_embeddings = 4096;
  add(specs, "llama-160m", "JackFram/llama-160m", sized(first, {768, 3072, 12, 12, 12}));
  add(specs, "tinyllama-1.1b", "TinyLlama/TinyLlama-1.1B-Chat-v1.0",
      sized(first, {2048, 5632, 22, 32, 4}));
  add(specs, "llama-7b", "huggyllama/llama-7b", sized(first, {4096, 11008, 32, 32, 32}));
  add(specs, "llama-2-7b", "meta-llama/Llama-2-7b-hf", sized(second, {4096, 11008, 32, 32, 32}));
  add(specs, "llama-2-13b", "meta-llama/Llama-2-13b-hf", sized(second, {5120, 13824, 40, 40, 40}));
  add(specs, "llama-2-70b", "meta-llama/Llama-2-70b-hf", sized(second, {8192, 28672, 80, 64, 8}));
}

LlamaConfig llama_3() {
  return {.vocab_size = 128256,
          .max_position_embeddings = 8192,
          .rope_parameters = {.rope_theta = 500000.0}};
}

/// From 3.1 on, positions are stretched from 8192 by `factor`.
LlamaConfig llama_3_1(double factor) {
  LlamaConfig config = llama_3();
  config.max_position_embeddings = 131072;
  config.rope_parameters.rope_type = RopeType::llama3;
  config.rope_parameters.factor = factor;
  config.rope_parameters.original_max_position_embeddings = 8192;
  return config;
}

void add_llama_3(Specs& specs) {
  LlamaConfig tied = llama_3_1(32.0);
  tied.tie_word_embeddings = true;
  LlamaConfig one = sized(tied, {2048, 8192, 16, 32, 8});
  one.head_dim = 64;
  LlamaConfig three = sized(tied, {3072, 8192, 28, 24, 8});
  three.head_dim = 128;
  add(specs, "llama-3-8b", "meta-llama/Meta-Llama-3-8B",
      sized(llama_3(), {4096, 14336, 32, 32, 8}));
  add(specs, "llama-3-70b", "meta-llama/Meta-Llama-3-70B",
      sized(llama_3(), {8192, 28672, 80, 64, 8}));
  add(specs, "llama-3.1-8b", "meta-llama/Llama-3.1-8B",
      sized(llama_3_1(8.0), {4096, 14336, 32, 32, 8}));
  add(specs, "llama-3.1-70b", "meta-llama/Llama-3.1-70B",
      sized(llama_3_1(8.0), {8192, 28672, 80, 64, 8}));
  add(specs, "llama-3.1-405b", "meta-llama/Llama-3.1-405B",
      sized(llama_3_1(8.0), {16384, 53248, 126, 128, 8}));
  add(specs, "llama-3.2-1b", "meta-llama/Llama-3.2-1B", one);
  add(specs, "llama-3.2-3b", "meta-llama/Llama-3.2-3B", three);
}

LlamaConfig qwen(LlamaFamily family, std::int64_t vocab, std::int64_t positions, bool tied) {
  LlamaConfig config = llama_defaults(family);
  config.vocab_size = vocab;
  config.max_position_embeddings = positions;
  config.tie_word_embeddings = tied;
  config.rope_parameters.rope_theta = 1e6;
  return config;
}

void add_qwen(Specs& specs) {
  const LlamaConfig old = qwen(LlamaFamily::qwen2, 151936, 131072, true);
  const LlamaConfig small = qwen(LlamaFamily::qwen2, 151936, 32768, true);
  const LlamaConfig large = qwen(LlamaFamily::qwen2, 152064, 131072, false);
  add(specs, "qwen2-0.5b", "Qwen/Qwen2-0.5B", sized(old, {896, 4864, 24, 14, 2}));
  add(specs, "qwen2-1.5b", "Qwen/Qwen2-1.5B", sized(old, {1536, 8960, 28, 12, 2}));
  add(specs, "qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B", sized(small, {896, 4864, 24, 14, 2}));
  add(specs, "qwen2.5-1.5b", "Qwen/Qwen2.5-1.5B", sized(old, {1536, 8960, 28, 12, 2}));
  add(specs, "qwen2.5-3b", "Qwen/Qwen2.5-3B", sized(small, {2048, 11008, 36, 16, 2}));
  add(specs, "qwen2.5-7b", "Qwen/Qwen2.5-7B", sized(large, {3584, 18944, 28, 28, 4}));
  add(specs, "qwen2.5-14b", "Qwen/Qwen2.5-14B", sized(large, {5120, 13824, 48, 40, 8}));
  add(specs, "qwen2.5-32b", "Qwen/Qwen2.5-32B", sized(large, {5120, 27648, 64, 40, 8}));
  add(specs, "qwen2.5-72b", "Qwen/Qwen2.5-72B", sized(large, {8192, 29568, 80, 64, 8}));
  add(specs, "qwen3-0.6b", "Qwen/Qwen3-0.6B",
      sized(qwen(LlamaFamily::qwen3, 151936, 40960, true), {1024, 3072, 28, 16, 8}));
  add(specs, "qwen3-8b", "Qwen/Qwen3-8B",
      sized(qwen(LlamaFamily::qwen3, 151936, 40960, false), {4096, 12288, 36, 32, 8}));
}

void add_mistral_and_gemma(Specs& specs) {
  LlamaConfig mistral = llama_defaults(LlamaFamily::mistral);
  mistral.max_position_embeddings = 32768;
  const LlamaConfig gemma = llama_defaults(LlamaFamily::gemma);
  add(specs, "mistral-7b", "mistralai/Mistral-7B-v0.1", mistral);
  add(specs, "gemma-2b", "google/gemma-2b", sized(gemma, {2048, 16384, 18, 8, 1}));
  add(specs, "gemma-7b", "google/gemma-7b", gemma);
}

void add_mixtures(Specs& specs) {
  MixtralConfig mixtral{};
  mixtral.max_position_embeddings = 32768;
  MixtralConfig small{};
  small.hidden_size = 1024;
  small.intermediate_size = 3584;
  small.num_hidden_layers = 8;
  small.num_attention_heads = 16;
  DeepseekV3Config deepseek{};
  deepseek.max_position_embeddings = 163840;
  deepseek.rope_parameters = {
      .rope_type = RopeType::yarn, .factor = 40.0, .original_max_position_embeddings = 4096};
  add(specs, "mixtral-8x7b", "mistralai/Mixtral-8x7B-v0.1", mixtral);
  specs.push_back({"mixtral-small", std::string(kRecordings), small});
  add(specs, "deepseek-v3", "deepseek-ai/DeepSeek-V3", deepseek);
}

void add_t5(Specs& specs) {
  add(specs, "t5-small", "google-t5/t5-small", T5Config{});
  add(specs, "t5-base", "google-t5/t5-base",
      T5Config{.d_model = 768, .d_ff = 3072, .num_layers = 12, .num_heads = 12});
  add(specs, "t5-large", "google-t5/t5-large",
      T5Config{.d_model = 1024, .d_ff = 4096, .num_layers = 24, .num_heads = 16});
  add(specs, "t5-3b", "google-t5/t5-3b",
      T5Config{.d_model = 1024, .d_kv = 128, .d_ff = 16384, .num_layers = 24, .num_heads = 32});
}

/// Layers, width and vocabulary are printed in the paper; the rest reproduces its rounded counts.
void add_gpt_next(Specs& specs) {
  const std::string source =
      "arXiv:2205.05198's successor sizes in NVIDIA NeMo; heads, norms and untied head are assumed";
  specs.push_back({"nemo-gpt-1b", source, GptNextConfig{}});
  specs.push_back(
      {"nemo-gpt-5b", source,
       GptNextConfig{.hidden_size = 4096, .ffn_hidden_size = 10880, .num_attention_heads = 32}});
  specs.push_back({"nemo-gpt-7b", source,
                   GptNextConfig{.hidden_size = 4096,
                                 .ffn_hidden_size = 10880,
                                 .num_layers = 32,
                                 .num_attention_heads = 32}});
}

void add_plain(Specs& specs) {
  const std::string source = "the project's recordings: a plain decoder in torchtitan's style";
  specs.push_back({"plain-160m", source, PlainConfig{}});
  specs.push_back(
      {"plain-1b", source,
       PlainConfig{
           .vocab = 128256, .dim = 2048, .ffn = 8192, .layers = 16, .heads = 32, .kv_heads = 8}});
  specs.push_back(
      {"plain-8b", source,
       PlainConfig{
           .vocab = 128256, .dim = 4096, .ffn = 14336, .layers = 32, .heads = 32, .kv_heads = 8}});
}

Specs make_presets() {
  Specs specs;
  for (const auto add_family :
       {add_gpt2, add_opt, add_bloom, add_gpt_neo, add_codegen_and_gptj, add_biogpt,
        add_gpt_bigcode, add_llama_1_and_2, add_llama_3, add_mistral_and_gemma, add_qwen,
        add_mixtures, add_t5, add_gpt_next, add_plain}) {
    add_family(specs);
  }
  return specs;
}

/// Other names of presets: those of the recordings and the usual short ones.
constexpr std::array<std::pair<std::string_view, std::string_view>, 9> kAliases{{
    {"llama-1b", "llama-3.2-1b"},
    {"llama-3b", "llama-3.2-3b"},
    {"llama-8b", "llama-3-8b"},
    {"llama-70b", "llama-3-70b"},
    {"llama-405b", "llama-3.1-405b"},
    {"bloom", "bloom-176b"},
    {"gptj", "gptj-6b"},
    {"mixtral", "mixtral-8x7b"},
    {"tiny-starcoder-py", "tiny_starcoder_py"},
}};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool is_called(const ModelSpec& spec, const std::string& wanted) {
  return lower(spec.name) == wanted || lower(spec.source) == lower(kHub) + wanted;
}

/// The three names nearest to `wanted`; those that contain it count as near.
std::vector<std::string> nearest_names(const std::string& wanted) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const ModelSpec& spec : model_presets()) {
    const std::string name = lower(spec.name);
    const bool contains = !wanted.empty() && name.find(wanted) != std::string::npos;
    ranked.emplace_back(contains ? 1 : edit_distance(wanted, name), spec.name);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<std::size_t, std::string>::first);
  constexpr std::size_t kShown = 3;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kShown; ++i) {
    names.push_back("'" + ranked[i].second + "'");
  }
  return names;
}

}  // namespace

std::span<const ModelSpec> model_presets() {
  static const Specs presets = make_presets();
  return presets;
}

const ModelSpec* find_model_preset(std::string_view name) {
  std::string wanted = lower(name);
  const auto* const alias = std::ranges::find(
      kAliases, std::string_view(wanted), &std::pair<std::string_view, std::string_view>::first);
  if (alias != kAliases.end()) {
    wanted = alias->second;
  }
  const auto presets = model_presets();
  const auto found =
      std::ranges::find_if(presets, [&](const ModelSpec& spec) { return is_called(spec, wanted); });
  return found == presets.end() ? nullptr : &*found;
}

std::string unknown_model(std::string_view name) {
  return fmt::format(
      "no such model; nearest names: {}; 'highwater models' lists all, and a config.json file is "
      "taken as well",
      fmt::join(nearest_names(lower(name)), ", "));
}

const ModelSpec& model_preset(std::string_view name) {
  const ModelSpec* const found = find_model_preset(name);
  if (found == nullptr) {
    throw UsageError(fmt::format("'{}': {}", name, unknown_model(name)));
  }
  return *found;
}

}  // namespace highwater
