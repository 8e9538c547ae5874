// Keys that transformers' Trainer, TRL, axolotl and LLaMA-Factory share: they all run Trainer.
//
// Sources: transformers 5.23 training_args.py, trainer.py, modeling_utils.py; accelerate 1.15
// utils/dataclasses.py; TRL 1.16; peft 0.21.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "workloads/sources/rules/key_table.hpp"

namespace highwater::program_table {

/// What spreads the model over ranks, as far as this file says.
enum class Sharding : std::uint8_t { none, fsdp1, fsdp2, deepspeed };

Sharding sharding_of(const SettingList& all);

/// Whether the file has keys that transformers 5 dropped: its defaults are those of transformers 4.
bool is_of_transformers_4(const SettingList& all);

/// The preset that the file names, or the name itself; empty if it names none.
std::string model_of(const SettingList& all);

/// "bf16", "fp16" or empty: what training runs in.
std::string_view half_of(const SettingList& all);

/// --precision for weights of type `weights` that are trained in `half`; absent if no word says it.
std::optional<std::string> precision_word(std::string_view weights, std::string_view half,
                                          const SettingList& all);

/// Whether adapters are trained instead of the model.
bool trains_adapters(const SettingList& all);

/// Applies the rules of `table` to the settings of a part of the file, with `all` around them.
void apply_rules(const KeyTable& table, const SettingList& part, const SettingList& all,
                 SourceKeys& keys);

/// Says that the number of GPUs is missing where a model is spread over them and no launcher tells.
/// @throws InputError: with this key the program trains nothing
[[noreturn]] void refuse_without_training(const Setting& setting);

void note_missing_ranks(const SettingList& all, SourceKeys& keys);

/// Says that the file which a launch line names is not there, where no model is known without it.
void note_missing_file(const SettingList& all, SourceKeys& keys);

/// --dp-kind of FSDP, where the file asks for it.
void offer_fsdp_kind(const SettingList& all, SourceKeys& keys);

/// --zero-init, where from_pretrained() runs inside of deepspeed.zero.Init().
void offer_zero_init(const Setting& setting, SourceKeys& keys);

/// --precision by what the file says about weights and training.
void offer_precision(const Setting& setting, const SettingList& all, SourceKeys& keys);

/// The model in 32, 16 or mixed bits where no key of the file says so.
void offer_untold_precision(const SettingList& all, SourceKeys& keys);

/// "flash-attn's own kernels" and others, as the nearest attention that is simulated.
void offer_attention(const Setting& setting, std::string_view name, const SettingList& all,
                     SourceKeys& keys);

// Rules of single keys.
void read_model(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_model_type(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_length(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_label_smoothing(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_half(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_dtype(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_attention(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_flash_flag(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_optim(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_optim_args(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_optim_targets(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_no_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_checkpoint_kwargs(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_reentrant(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_compile_backend(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_compile_mode(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_liger(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_empty_cache(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_backend(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_use_lora(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_lora_key(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_deepspeed(const Setting& setting, const SettingList& all, SourceKeys& keys);
/// The same for the text of the file that `setting` names.
void read_deepspeed_text(const Setting& setting, const std::string& text, const SettingList& all,
                         SourceKeys& keys);
/// Refuses a key of preference, reward or reinforcement learning that is on.
void read_other_trainer(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_replicas(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_factory_attention(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_tensor_size(const Setting& setting, const SettingList& all, SourceKeys& keys);

/// Whether and how a run evaluates between its steps (evaluation.cpp).
void read_evaluation(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_eval_accumulation(const Setting& setting, const SettingList& all, SourceKeys& keys);

/// Whether the optimizer copies gradients to decay them (weight_decay.cpp).
void read_weight_decay(const Setting& setting, const SettingList& all, SourceKeys& keys);

// Rules of weights in 4 and 8 bits (quantized_weights.cpp).
void read_do_train(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_other_device(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_load_in_4bit(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_load_in_8bit(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_bnb_key(const Setting& setting, const SettingList& all, SourceKeys& keys);
/// "4", "8", "16": how many bits the frozen weights have, as scripts of their own call it.
void read_bits(const Setting& setting, const SettingList& all, SourceKeys& keys);
/// FastChat's q_lora: NF4 with double quantisation.
void read_q_lora(const Setting& setting, const SettingList& all, SourceKeys& keys);
/// LLaMA-Factory's quantization_bit, with its own defaults.
void read_quantization_bit(const Setting& setting, const SettingList& all, SourceKeys& keys);
/// What axolotl says of quantised weights where a file does not.
void offer_axolotl_quantization(const SettingList& all, SourceKeys& keys);
/// TRL's ModelConfig: 4-bit layers compute in the type that weights are read in.
void offer_trl_compute_dtype(const SettingList& all, SourceKeys& keys);

// Rules of FSDP's keys (hugging_face_fsdp.cpp).
void read_fsdp(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_fsdp_file(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_fsdp_version(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_sharding_strategy(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_reshard(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_fsdp_offload(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_wrap_policy(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_backward_prefetch(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_forward_prefetch(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_use_orig_params(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_limit_all_gathers(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_efficient_loading(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_fsdp_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_fsdp_policy(const Setting& setting, const SettingList& all, SourceKeys& keys);

// Rules that accelerate's file and DeepSpeed's share (deepspeed.cpp).
void read_zero_stage(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_number_or_auto_accum(const Setting& setting, const SettingList& all, SourceKeys& keys);
void read_number_or_auto_clip(const Setting& setting, const SettingList& all, SourceKeys& keys);

/// The settings of a DeepSpeed file: dp-kind, precision, buckets, offload.
void read_deepspeed_settings(const SettingList& file, SourceKeys& keys);

/// The readers that several programs share, as the facts call them (shared_readers.cpp).
std::span<const NamedReader> hugging_face_readers();

}  // namespace highwater::program_table
