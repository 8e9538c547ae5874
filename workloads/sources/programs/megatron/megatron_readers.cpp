#include "workloads/sources/programs/megatron/megatron_readers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include <fmt/format.h>

#include "traces/error.hpp"
#include "workloads/sources/programs/megatron/layer_pattern.hpp"
#include "workloads/sources/programs/megatron/megatron_decoder.hpp"
#include "workloads/sources/programs/megatron/megatron_values.hpp"

namespace highwater::program_table::megatron_keys {
namespace {

double real_or(const SettingList& all, std::string_view key, double otherwise) {
  const std::string digits = all.text(key).value_or("");
  double value = otherwise;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

std::int64_t stages_of(const SettingList& all) {
  return whole_or(all, "pipeline_model_parallel_size", 1);
}

void offer_chunks(const Setting& setting, std::int64_t chunks, SourceKeys& keys) {
  if (chunks > 1) {
    offer(setting, "pp-schedule", "interleaved", keys);
    offer(setting, "pp-chunks", std::to_string(chunks), keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "one chunk of layers a stage");
  }
}

/// A switch that is off where the line lacks it, and on here unless told otherwise.
void offer_unless_on(const SettingList& all, std::string_view key, std::string_view option,
                     SourceKeys& keys) {
  if (!all.is_on(key)) {
    keys.use(fmt::format("({})", key), "false", option, "false");
  }
}

/// The option by which a line sets a part of a decoder.
struct PartOption {
  bool DecoderFacts::*part;
  std::string_view key;
  std::string_view otherwise;  ///< what Megatron takes where the line says nothing
  std::string_view with;       ///< what the families have that have the part, and that lack it
  std::string_view without;
};

constexpr std::array kPartOptions{
    PartOption{&DecoderFacts::has_rms_norm, "normalization", "LayerNorm",
               "RMSNorm (--normalization RMSNorm)", "LayerNorm (--normalization LayerNorm)"},
    PartOption{&DecoderFacts::is_gated, "swiglu", "false", "a gated MLP (--swiglu)",
               "a plain MLP (without --swiglu)"},
    PartOption{&DecoderFacts::has_rotary, "position_embedding_type", "learned_absolute",
               "rotary positions (--position-embedding-type rope)", "learned positions"},
    PartOption{&DecoderFacts::has_biases, "disable_bias_linear", "false",
               "biases (without --disable-bias-linear)", "no biases (--disable-bias-linear)"}};

/// Names the one part of a decoder that none of the families here has beside its other parts;
/// false if there are several.
bool note_stray_part(const SettingList& all, const DecoderFacts& facts, SourceKeys& keys) {
  const auto* const row = std::ranges::find(kPartOptions, stray_part(facts), &PartOption::part);
  if (row == kPartOptions.end()) {
    return false;
  }
  keys.add_not_supported(
      fmt::format("({})", row->key), all.text(row->key).value_or(std::string(row->otherwise)),
      fmt::format("beside the other parts of this decoder the simulation has {}; give --model",
                  facts.*row->part ? row->without : row->with),
      "model");
  return true;
}

}  // namespace

void read_model(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  DecoderFacts facts = decoder_of(all);
  const std::string foreign = foreign_part(all);
  if (facts.layers < 1 || facts.hidden < 1 || facts.heads < 1) {
    keys.add_not_supported(setting.key, setting.value,
                           "sizes of the model that are not written here; give --model", "model");
    return;
  }
  const auto words = vocabulary_of(all, facts);
  const bool is_whole = foreign.empty() && !decoder_word(facts);
  if (is_whole && note_stray_part(all, facts, keys)) {
    return;
  }
  facts.vocab = words.value_or(1);
  const auto word = foreign.empty() ? decoder_word(facts) : std::nullopt;
  if (!word) {
    keys.add_not_supported(
        setting.key, setting.value,
        fmt::format(
            "of Megatron's models the simulation has GPT-3's, Llama's, Qwen's, Mixtral's, "
            "DeepSeek's and NeMo's GPT, without {}; give --model",
            foreign.empty() ? "this mixture of norm, activation, biases and positions" : foreign),
        "model");
  } else if (!words) {
    keys.add_not_supported(
        setting.key, setting.value,
        "the size of the tokenizer's vocabulary is unknown; add --vocab-size to the line, or "
        "give --model",
        "model");
  } else {
    offer(setting, "model", *word, keys);
  }
}

void read_part_length(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (all.find("seq_length") == nullptr && setting.key.starts_with("encoder")) {
    offer(setting, "seq", setting.value, keys);
  } else if (all.text("seq_length") == setting.value) {
    keys.add_no_effect(setting.key, setting.value, "the same as seq-length");
  } else if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else {
    keys.add_not_supported(setting.key, setting.value, "an encoder alongside the decoder",
                           MemorySign::more);
  }
}

void read_dropout(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string attention = all.text("attention_dropout").value_or(setting.value);
  offer(setting, "dropout", setting.value, keys);
  if (real_or(all, "hidden_dropout", 0) != real_or(all, "attention_dropout", 0)) {
    keys.add_no_effect("attention_dropout", attention, "flash attention keeps no mask of it");
  }
}

void read_activation(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  const bool is_off = setting.value == "false" || setting.kind == SettingKind::null ||
                      setting.value == "0.0" || setting.value == "0" || setting.value == "none";
  if (is_off) {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
  } else {
    keys.add_not_supported(setting.key, setting.value, "another activation keeps other tensors");
  }
}

void read_clip(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  const bool is_off = setting.value == "0" || setting.value == "0.0";
  offer(setting, "grad-clip", is_off ? "none" : setting.value, keys);
}

void read_sequence_parallel(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (whole_or(all, "tensor_model_parallel_size", 1) > 1) {
    offer(setting, "sp", setting.value, keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "one tensor-parallel rank");
  }
}

void read_cp_type(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (whole_or(all, "context_parallel_size", 1) == 1 || setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "one context-parallel rank");
  } else if (setting.value == "p2p" || setting.value == "a2a") {
    offer(setting, "cp-kind", setting.value == "p2p" ? "ring" : "ulysses", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "keys and values of all ranks at once",
                           MemorySign::more);
  }
}

void read_expert_tp(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::int64_t tp = whole_or(all, "tensor_model_parallel_size", 1);
  const bool has_experts = is_set(all, "num_experts") || is_set(all, "num_moe_experts");
  if (!has_experts || setting.kind == SettingKind::null || all.whole(setting.key) == tp) {
    keys.add_no_effect(setting.key, setting.value,
                       has_experts ? "as the other layers" : "no experts");
  } else {
    offer(setting, "etp", setting.value, keys);
  }
}

/// Megatron's FSDP decides where both are given.
void read_distributed(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.value != "true") {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
  } else if (is_set(all, "use_megatron_fsdp") || is_set(all, "use_custom_fsdp")) {
    keys.add_no_effect(setting.key, setting.value, "FSDP shards the optimizer's states, too");
  } else {
    offer(setting, "dp-kind", "zero1", keys);
  }
}

/// Without the layout whole parameters, Adam's as well, go to ranks in turn by size
/// (_shard_params_ping_pong), and are gathered from flat copies.
void read_layer_wise_layout(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string optimizer = all.text("optimizer").value_or("adam");
  const bool is_layer_wise =
      optimizer == "dist_muon" || (optimizer == "muon" && is_set(all, "use_distributed_optimizer"));
  if (setting.value == "true" && is_layer_wise) {
    keys.add_not_supported(setting.key, setting.value,
                           "parameters are gathered from flat copies after each step",
                           MemorySign::more);
  } else {
    keys.add_no_effect(setting.key, setting.value, "read with the layer-wise optimizer only");
  }
}

/// Shards of gradients and parameters are refused with Megatron's model, which says so.
void read_fsdp(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  constexpr std::array kShardings{ValueWord{"no_shard", "ddp"}, ValueWord{"optim", "zero1"},
                                  ValueWord{"optim_grads", "zero2"},
                                  ValueWord{"optim_grads_params", "zero3"}};
  if (setting.value != "true") {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
    return;
  }
  const std::string kind =
      all.text("data_parallel_sharding_strategy").value_or("optim_grads_params");
  for (const ValueWord& row : kShardings) {
    if (row.value == kind) {
      offer(setting, "dp-kind", std::string(row.word), keys);
    }
  }
}

/// Without FSDP the strategy is not read; the distributed optimizer decides.
void read_sharding(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_fsdp = is_set(all, "use_megatron_fsdp") || is_set(all, "use_custom_fsdp");
  keys.add_no_effect(setting.key, setting.value,
                     is_fsdp ? "read with use-megatron-fsdp" : "no FSDP");
}

void read_granularity(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.kind == SettingKind::null || setting.value == "none") {
    keys.add_no_effect(setting.key, setting.value, "nothing is recomputed");
  } else {
    offer(setting, "checkpoint", setting.value == "selective" ? "selective-attention" : "full",
          keys);
  }
}

void read_recomputed_layers(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_full = says(all, "recompute_granularity", "full");
  const std::int64_t layers =
      whole_or(all, "num_layers", 0) / std::max<std::int64_t>(stages_of(all), 1);
  const bool is_uniform = !says(all, "recompute_method", "block");
  const std::int64_t count = all.whole(setting.key).value_or(0);
  if (!is_full || setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "read with granularity full only");
  } else if (is_uniform ? count == 1 : count >= layers) {
    keys.add_no_effect(setting.key, setting.value, "each layer is recomputed, as it is here");
  } else if (is_uniform) {
    keys.add_not_supported(setting.key, setting.value, "groups of layers are recomputed together");
  } else if (count == 0) {  // megatron/core/transformer/transformer_block.py: layers below it
    offer(setting, "checkpoint", "none", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "only the first layers of a stage are recomputed", MemorySign::more);
  }
}

void read_recomputed_modules(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!says(all, "recompute_granularity", "selective") || setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "core attention, as it is here");
  } else {
    offer(setting, "recompute-modules", setting.value, keys);
  }
}

void read_global_batch(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "one micro-batch a rank");
  } else {
    offer(setting, "global-batch", setting.value, keys);
  }
}

/// DeepSpeed's engine has its own optimizer, buffers and shards in place of Megatron's.
void read_megatron_deepspeed(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (all.is_on("deepspeed")) {
    throw InputError("", setting.key,
                     "DeepSpeed's engine around Megatron's model (Megatron-DeepSpeed) is not "
                     "simulated",
                     "leave --deepspeed out to see Megatron's own optimizer, or record the run "
                     "(highwater record)");
  }
  keys.add_no_effect(setting.key, setting.value, "read with deepspeed only");
}

void read_rampup(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.kind == SettingKind::null || setting.value == "false" ||
      all.find("global_batch_size") != nullptr) {
    keys.add_no_effect(setting.key, setting.value, "the batch grows to global-batch-size");
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "the batch grows over the run; give --grad-accum", "grad-accum");
  }
}

void read_layers_per_chunk(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::int64_t size = all.whole(setting.key).value_or(0);
  const std::int64_t layers = whole_or(all, "num_layers", 0);
  const std::int64_t stages = stages_of(all);
  const bool is_even = size > 0 && stages > 0 && layers % (stages * size) == 0;
  if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "one chunk of layers a stage");
  } else if (is_even) {
    offer_chunks(setting, layers / stages / size, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "chunks of layers of different sizes");
  }
}

void read_chunks(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  offer_chunks(setting, all.whole(setting.key).value_or(1), keys);
}

void read_empty_level(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "0" || setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "off, as it is here");
  } else if (setting.value == "2") {
    offer(setting, "empty-cache-every-step", "true", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "the cache is emptied between backward and optimizer",
                           MemorySign::little);
  }
}

void read_capacity(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.kind == SettingKind::null || setting.value.starts_with('-')) {
    keys.add_no_effect(setting.key, setting.value, "dropless, as it is here");
  } else if (is_set(all, "moe_pad_expert_input_to_capacity")) {
    offer(setting, "moe-capacity-factor", setting.value, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "tokens above this share of an expert are dropped", MemorySign::less);
  }
}

void read_layer_freq(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.kind == SettingKind::null || dense_layers(setting.value)) {
    keys.add_no_effect(setting.key, setting.value, "part of --model");
  } else {
    keys.add_not_supported(setting.key, setting.value, "only some layers are mixtures",
                           MemorySign::less);
  }
}

/// What a line says by leaving it out: kernels of mixtures, and the router's type.
void read_experts(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_mixture =
      setting.kind != SettingKind::null && all.whole(setting.key).value_or(0) > 0;
  keys.add_no_effect(setting.key, setting.value, is_mixture ? "part of --model" : "no mixture");
  if (!is_mixture || says(all, "transformer_impl", "local")) {
    return;
  }
  offer_unless_on(all, "moe_grouped_gemm", "moe-grouped-gemm", keys);
  offer_unless_on(all, "moe_permute_fusion", "moe-permute-fusion", keys);
  if (!says(all, "moe_router_dtype", "fp32") && !says(all, "moe_router_dtype", "fp64")) {
    keys.use("(moe_router_dtype)", "none", "moe-router-fp32", "false");
  }
}

/// A loss that is not added has no coefficient.
void read_balancing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_added = real_or(all, "moe_aux_loss_coeff", 0.0) > 0;
  if (setting.value == "sinkhorn") {
    keys.add_not_supported(setting.key, setting.value, "the router iterates over its scores");
  } else if (is_added && (setting.value == "aux_loss" || setting.value == "seq_aux_loss")) {
    offer(setting, "moe-balancing", setting.value == "aux_loss" ? "aux-loss" : "seq-aux-loss",
          keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "a few values per token");
  }
}

void read_softmax_fusion(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_eager = says(all, "attention_backend", "unfused") ||
                        says(all, "attention_backend", "local") ||
                        says(all, "transformer_impl", "local");
  if (is_eager && !all.is_on("use_flash_attn")) {
    keys.add_not_supported(setting.key, setting.value, "scores in fp32", MemorySign::more);
  } else {
    keys.add_no_effect(setting.key, setting.value, "flash attention has no softmax of its own");
  }
}

void read_fusion(const Setting& setting, const SettingList& /*all*/, SourceKeys& keys) {
  if (setting.value == "false") {
    keys.add_not_supported(setting.key, setting.value, "unfused activations keep more tensors",
                           MemorySign::more);
  } else {
    keys.add_no_effect(setting.key, setting.value, "fused, as it is here");
  }
}

/// --fp8-recipe is delayed unless it says otherwise (arguments.py); Transformer Engine's alone.
void read_fp8(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string recipe = all.text("fp8_recipe").value_or("delayed");
  const bool is_known =
      recipe == "delayed" || recipe == "tensorwise" || recipe == "blockwise" || recipe == "mxfp8";
  const bool is_simulated = is_known && !all.whole("num_experts") &&
                            !all.is_on("sequence_parallel") &&
                            !says(all, "transformer_impl", "local");
  if (setting.kind == SettingKind::null || setting.value == "none") {
    keys.add_no_effect(setting.key, setting.value, "products in 16 bits, as it is here");
  } else if (is_simulated) {
    offer(setting, "fp8-recipe", recipe, keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "float8 products of Transformer Engine",
                           MemorySign::either);
  }
}

/// Megatron-Core's own layers read it; Transformer Engine goes by --attention-backend.
void read_flash_switch(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says(all, "transformer_impl", "local") && setting.value != "false") {
    offer(setting, "attention", "sdpa-flash", keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "Transformer Engine chooses the kernel");
  }
}

/// core/fusions/fused_bias_dropout.py: the unfused function keeps what a bias and a dropout make,
/// and is one sum without them.
void read_unfused_sum(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (all.is_on("disable_bias_linear") && real_or(all, "hidden_dropout", 0.1) == 0) {
    keys.add_no_effect(setting.key, setting.value, "one sum without a bias and a dropout");
  } else {
    keys.add_not_supported(setting.key, setting.value, "unfused activations keep more tensors",
                           MemorySign::more);
  }
}

/// --cross-entropy-fusion-impl te is Transformer Engine's kernel.
void read_loss_fusion(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says(all, "cross_entropy_fusion_impl", "te")) {
    offer(setting, "te-cross-entropy", setting.value, keys);
  } else if (setting.value == "false") {
    keys.add_no_effect(setting.key, setting.value, "as it is here");
  } else {
    keys.add_not_supported(setting.key, setting.value, "the loss keeps fewer copies of the logits",
                           MemorySign::less);
  }
}

/// --transformer-impl local: attention of Megatron's own unless flash attention is asked for.
void read_modules_of_layers(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.value == "local") {
    offer(setting, "transformer-impl", "local", keys);
    if (!all.is_on("use_flash_attn")) {
      offer(setting, "attention", "eager", keys);
    }
  } else {
    keys.add_no_effect(setting.key, setting.value, "the same tensors of each layer");
  }
}

}  // namespace highwater::program_table::megatron_keys
