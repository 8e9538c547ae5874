// Decoders that are LLaMA but for a few facts (transformers 5.23, models/<name>): Arcee, InternLM
// 3, IQuest Coder, CWM, Ministral, ERNIE 4.5, Granite, HyperCLOVA X, Helium, HunYuan, Seed-OSS,
// SmolLM 3.
#pragma once

#include "workloads/plan/model/families/decoder_family.hpp"

namespace highwater {

inline constexpr auto kBiasedFields = decoder_fields(kAttentionBiasField, kMlpBiasField);

// --- Arcee: two projections around relu squared --------------------------------------------------

const Family& arcee_family();

inline constexpr LlamaCode kArceeCode{.family = arcee_family, .mlp = {.kind = MlpKind::plain}};

inline LlamaConfig arcee_defaults() {
  return {.code = &kArceeCode,
          .hidden_size = 2560,
          .intermediate_size = 18432,
          .hidden_act = Activation::relu2,
          .max_position_embeddings = 4096};
}

inline constexpr auto kArcee =
    decoder_family<arcee_defaults>(kDecoderRelative, "arcee", "ArceeFor", kBiasedFields);

inline const Family& arcee_family() {
  return kArcee;
}

// --- Apertus: an activation with parameters, norms of queries and keys ---------------------------

const Family& apertus_family();

inline constexpr LlamaCode kApertusCode{
    .family = apertus_family,
    .block = {.norms = {.before_attention = "attention_layernorm",
                        .before_mlp = "feedforward_layernorm"}},
    .attention = {.qk_norm = {.when = QkNorm::before_rotation}},
    .mlp = {.kind = MlpKind::plain}};

inline LlamaConfig apertus_defaults() {
  return {.code = &kApertusCode,
          .vocab_size = 131072,
          .intermediate_size = 14336,
          .hidden_act = Activation::xielu,
          .max_position_embeddings = 65536,
          .pad_token_id = 3,
          .rope_parameters = {.rope_type = RopeType::llama3,
                              .rope_theta = 12e6,
                              .factor = 8.0,
                              .original_max_position_embeddings = 8192}};
}

inline constexpr auto kApertusFields = decoder_fields(kAttentionBiasField);

inline constexpr auto kApertus =
    decoder_family<apertus_defaults>(kDecoderRelative, "apertus", "ApertusFor", kApertusFields);

inline const Family& apertus_family() {
  return kApertus;
}

// --- InternLM 3 and IQuest Coder: LLaMA's code ---------------------------------------------------

const Family& internlm3_family();

inline constexpr LlamaCode kInternlm3Code{.family = internlm3_family};

inline LlamaConfig internlm3_defaults() {
  return {.code = &kInternlm3Code,
          .vocab_size = 128512,
          .intermediate_size = 10240,
          .num_hidden_layers = 48,
          .num_key_value_heads = 2,
          .head_dim = 128,
          .max_position_embeddings = 32768,
          .pad_token_id = 2};
}

inline constexpr auto kInternlm3Fields = decoder_fields(
    field<&LlamaConfig::attention_bias>("attention_bias", FieldRole::none, {.alias = "qkv_bias"}),
    field<&LlamaConfig::mlp_bias>("mlp_bias", FieldRole::none, {.alias = "bias"}));

inline constexpr auto kInternlm3 = decoder_family<internlm3_defaults>(
    kDecoderRelative, "internlm3", "InternLM3For", kInternlm3Fields);

inline const Family& internlm3_family() {
  return kInternlm3;
}

const Family& iquestcoder_family();

inline constexpr LlamaCode kIquestcoderCode{.family = iquestcoder_family};

inline LlamaConfig iquestcoder_defaults() {
  return {.code = &kIquestcoderCode,
          .vocab_size = 76800,
          .hidden_size = 5120,
          .intermediate_size = 27648,
          .num_hidden_layers = 80,
          .num_attention_heads = 40,
          .num_key_value_heads = 8,
          .head_dim = 128,
          .max_position_embeddings = 131072};
}

inline constexpr auto kIquestcoder = decoder_family<iquestcoder_defaults>(
    kDecoderRelative, "iquestcoder", "IQuestCoderFor", kBiasedFields);

inline const Family& iquestcoder_family() {
  return kIquestcoder;
}

// --- CWM and Ministral: a window in most or all layers -------------------------------------------

const Family& cwm_family();

inline constexpr LlamaCode kCwmCode{
    .family = cwm_family,
    .windows = {.layers = WindowedLayers::all_but_first_of, .masks = MaskKinds::all},
    .positions = {.order = PositionOrder::ids_first}};

inline LlamaConfig cwm_defaults() {
  return {.code = &kCwmCode,
          .vocab_size = 128256,
          .hidden_size = 6144,
          .intermediate_size = 21504,
          .num_hidden_layers = 64,
          .num_attention_heads = 48,
          .num_key_value_heads = 8,
          .head_dim = 128,
          .max_position_embeddings = 131072,
          .rope_parameters = {.rope_type = RopeType::llama3,
                              .rope_theta = 1e6,
                              .factor = 16.0,
                              .original_max_position_embeddings = 8192},
          .sliding_window = 8192};
}

inline constexpr auto kCwmFields = decoder_fields(kMlpBiasField, kWindowField);

inline constexpr auto kCwm =
    decoder_family<cwm_defaults>(kDecoderRelative, "cwm", "CwmFor", kCwmFields);

inline const Family& cwm_family() {
  return kCwm;
}

const Family& ministral_family();

inline constexpr LlamaCode kMinistralCode{
    .family = ministral_family,
    .windows = {.layers = WindowedLayers::all, .masks = MaskKinds::all},
    .positions = {.order = PositionOrder::ids_first}};

inline LlamaConfig ministral_defaults() {
  return {.code = &kMinistralCode,
          .intermediate_size = 14336,
          .num_key_value_heads = 8,
          .max_position_embeddings = 131072,
          .sliding_window = 4096};
}

inline constexpr auto kWindowFields = decoder_fields(kWindowField);

inline constexpr auto kMinistral = decoder_family<ministral_defaults>(
    kDecoderRelative, "ministral", "MinistralFor", kWindowFields);

inline const Family& ministral_family() {
  return kMinistral;
}

// --- ERNIE 4.5: neighbours are turned, in fp32 ---------------------------------------------------

const Family& ernie4_5_family();

inline constexpr LlamaCode kErnie45Code{
    .family = ernie4_5_family,
    .positions = {.rotation = Rotation::pairs_cast, .tables = RotaryTables::wide}};

inline LlamaConfig ernie4_5_defaults() {
  return {.code = &kErnie45Code,
          .vocab_size = 103424,
          .hidden_size = 1024,
          .intermediate_size = 3072,
          .num_hidden_layers = 18,
          .num_attention_heads = 16,
          .num_key_value_heads = 2,
          .head_dim = 128,
          .max_position_embeddings = 131072,
          .pad_token_id = 0,
          .tie_word_embeddings = true};
}

inline constexpr auto kUseBiasFields = decoder_fields(
    field<&LlamaConfig::attention_bias>("use_bias"), field<&LlamaConfig::mlp_bias>("use_bias"));

inline constexpr auto kErnie45 =
    decoder_family<ernie4_5_defaults>(kDecoderRelative, "ernie4_5", "Ernie4_5For", kUseBiasFields);

inline const Family& ernie4_5_family() {
  return kErnie45;
}

// --- Granite and HyperCLOVA X: multipliers -------------------------------------------------------

const Family& granite_family();

inline constexpr LlamaCode kGraniteCode{.family = granite_family,
                                        .embedding = {.scale = EmbeddingScale::number},
                                        .positions = {.order = PositionOrder::ids_first},
                                        .block = {.scale = ResidualScale::part},
                                        .head = {.logits = LogitsCode::scaled}};

inline LlamaConfig granite_defaults() {
  return {.code = &kGraniteCode};
}

inline constexpr auto kGranite =
    decoder_family<granite_defaults>(kDecoderRelative, "granite", "GraniteFor", kBiasedFields);

inline const Family& granite_family() {
  return kGranite;
}

const Family& hyperclovax_family();

inline constexpr LlamaCode kHyperclovaxCode{
    .family = hyperclovax_family,
    .embedding = {.scale = EmbeddingScale::number},
    .positions = {.order = PositionOrder::ids_first},
    .block = {.norms = {.after_attention = "post_norm1", .after_mlp = "post_norm2"},
              .post_norms = PostNorms::configured,
              .scale = ResidualScale::part},
    .head = {.logits = LogitsCode::scaled}};

inline LlamaConfig hyperclovax_defaults() {
  return {.code = &kHyperclovaxCode};
}

inline constexpr auto kHyperclovaxFields = decoder_fields(
    kAttentionBiasField, kMlpBiasField, field<&LlamaConfig::use_post_norm>("use_post_norm"));

inline constexpr auto kHyperclovax = decoder_family<hyperclovax_defaults>(
    kDecoderRelative, "hyperclovax", "HyperCLOVAXFor", kHyperclovaxFields);

inline const Family& hyperclovax_family() {
  return kHyperclovax;
}

// --- Helium: norms in fp32 to the end, neighbours are turned -------------------------------------

const Family& helium_family();

inline constexpr LlamaCode kHeliumCode{
    .family = helium_family,
    .positions = {.rotation = Rotation::pairs},
    .block = {.norm = NormKind::wide_weight},
    .attention = {.projection = {.biases = AttentionBiases::configured_but_output}}};

inline LlamaConfig helium_defaults() {
  return {.code = &kHeliumCode,
          .vocab_size = 48000,
          .hidden_size = 2560,
          .intermediate_size = 7040,
          .num_hidden_layers = 24,
          .num_attention_heads = 20,
          .num_key_value_heads = 20,
          .head_dim = 128,
          .max_position_embeddings = 4096,
          .pad_token_id = 3};
}

inline constexpr auto kHelium =
    decoder_family<helium_defaults>(kDecoderRelative, "helium", "HeliumFor", kBiasedFields);

inline const Family& helium_family() {
  return kHelium;
}

// --- HunYuan: queries and keys are normed behind the rotation ------------------------------------

const Family& hunyuan_family();

inline constexpr LlamaCode kHunyuanCode{.family = hunyuan_family,
                                        .attention = {.qk_norm = {.when = QkNorm::after_rotation,
                                                                  .query_name = "query_layernorm",
                                                                  .key_name = "key_layernorm"}}};

inline LlamaConfig hunyuan_defaults() {
  return {.code = &kHunyuanCode, .vocab_size = 290943, .pad_token_id = 0};
}

inline constexpr auto kAttentionBiasFields = decoder_fields(kAttentionBiasField);

inline constexpr auto kHunyuan = decoder_family<hunyuan_defaults>(
    kDecoderRelative, "hunyuan_v1_dense", "HunYuanDenseV1For", kAttentionBiasFields);

inline const Family& hunyuan_family() {
  return kHunyuan;
}

// --- Seed-OSS: dropout at the end of both parts --------------------------------------------------

const Family& seed_oss_family();

inline constexpr LlamaCode kSeedOssCode{
    .family = seed_oss_family,
    .block = {.dropout = ResidualDropout::ends_the_part},
    .attention = {.projection = {.biases = AttentionBiases::configured_but_output}}};

inline LlamaConfig seed_oss_defaults() {
  return {.code = &kSeedOssCode,
          .vocab_size = 155136,
          .intermediate_size = 27648,
          .num_hidden_layers = 64,
          .num_attention_heads = 80,
          .num_key_value_heads = 8,
          .head_dim = 128,
          .max_position_embeddings = 524288,
          .pad_token_id = 1,
          .attention_bias = true,
          .attention_dropout = 0.1,
          .residual_dropout = 0.1};
}

inline constexpr auto kSeedOssFields = decoder_fields(
    kAttentionBiasField, kMlpBiasField,
    field<&LlamaConfig::attention_out_bias>("attention_out_bias"),
    field<&LlamaConfig::residual_dropout>("residual_dropout", FieldRole::residual_dropout));

inline constexpr auto kSeedOss =
    decoder_family<seed_oss_defaults>(kDecoderRelative, "seed_oss", "SeedOssFor", kSeedOssFields);

inline const Family& seed_oss_family() {
  return kSeedOss;
}

// --- SmolLM 3: layers without positions ----------------------------------------------------------

const Family& smollm3_family();

inline constexpr LlamaCode kSmollm3Code{
    .family = smollm3_family,
    .windows = {.layers = WindowedLayers::unrotated, .masks = MaskKinds::used},
    .positions = {.rotated = RotatedLayers::listed}};

inline LlamaConfig smollm3_defaults() {
  return {.code = &kSmollm3Code,
          .vocab_size = 128256,
          .hidden_size = 2048,
          .num_hidden_layers = 36,
          .num_attention_heads = 16,
          .num_key_value_heads = 4,
          .max_position_embeddings = 32768,
          .pad_token_id = 128004,
          .tie_word_embeddings = true};
}

inline constexpr auto kSmollm3Fields =
    decoder_fields(kAttentionBiasField, kMlpBiasField, kWindowField,
                   field<&LlamaConfig::use_sliding_window>("use_sliding_window"),
                   field<&LlamaConfig::no_rope_layer_interval>("no_rope_layer_interval"));

inline constexpr auto kSmollm3 =
    decoder_family<smollm3_defaults>(kDecoderRelative, "smollm3", "SmolLM3For", kSmollm3Fields);

inline const Family& smollm3_family() {
  return kSmollm3;
}

// --- DiffLlama: a second attention is subtracted -------------------------------------------------

const Family& diffllama_family();

inline constexpr LlamaCode kDiffllamaCode{.family = diffllama_family,
                                          .attention = {.kind = AttentionKind::differential}};

inline LlamaConfig diffllama_defaults() {
  return {.code = &kDiffllamaCode,
          .hidden_size = 2048,
          .intermediate_size = 8192,
          .num_hidden_layers = 16};
}

inline void check_diffllama(const LlamaConfig& config, ModelProblems& problems) {
  check_decoder(config, problems);
  if (config.attention_dropout > 0.0) {
    problems.add("attention_dropout is {}; DiffLlama refuses any but 0", config.attention_dropout);
  }
  if (kv_heads_of(config) % 2 != 0) {
    problems.add("num_key_value_heads is {}; DiffLlama needs an even number", kv_heads_of(config));
  }
}

constexpr Family diffllama_record() {
  Family record = kDecoderRelative;
  record.check = untyped<check_diffllama>;
  return record;
}

inline constexpr auto kDiffllama = decoder_family<diffllama_defaults>(
    diffllama_record(), "diffllama", "DiffLlamaFor", kAttentionBiasFields);

inline const Family& diffllama_family() {
  return kDiffllama;
}

// --- BitNet: a norm before the last projection of each part --------------------------------------

const Family& bitnet_family();

inline constexpr LlamaCode kBitnetCode{.family = bitnet_family, .block = {.has_sub_norms = true}};

inline LlamaConfig bitnet_defaults() {
  return {.code = &kBitnetCode,
          .vocab_size = 128256,
          .hidden_size = 2560,
          .intermediate_size = 6912,
          .num_hidden_layers = 30,
          .num_attention_heads = 20,
          .num_key_value_heads = 5,
          .hidden_act = Activation::relu2};
}

inline constexpr auto kBitnet =
    decoder_family<bitnet_defaults>(kDecoderRelative, "bitnet", "BitNetFor", kAttentionBiasFields);

inline const Family& bitnet_family() {
  return kBitnet;
}

}  // namespace highwater
