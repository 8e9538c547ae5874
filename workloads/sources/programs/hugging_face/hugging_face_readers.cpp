// Rules of single keys that programs around Trainer share.
#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "workloads/plan/optimizer_table.hpp"
#include "workloads/sources/configuration_file.hpp"
#include "workloads/sources/programs/hugging_face/hub_models.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/settings/read_settings.hpp"

namespace highwater::program_table {
namespace {

constexpr std::string_view kAsItIsHere = "the default here as well";

/// The word after `name` in a dictionary that is written as text: {"use_reentrant": false}.
std::optional<std::string> entry_of(std::string_view dictionary, std::string_view name) {
  const std::size_t at = dictionary.find(name);
  const std::size_t colon = at == std::string_view::npos ? at : dictionary.find(':', at);
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t begin = dictionary.find_first_not_of(" \t\"'", colon + 1);
  const std::size_t end = std::min(dictionary.find_first_of(" ,}\"'", begin), dictionary.size());
  return begin == std::string_view::npos
             ? std::nullopt
             : std::optional(std::string(dictionary.substr(begin, end - begin)));
}

std::optional<std::string> checkpoint_argument(const SettingList& all, std::string_view name) {
  const auto own = text_of(all, {fmt::format("activation_checkpointing_kwargs.{}", name),
                                 fmt::format("gradient_checkpointing_kwargs.{}", name)});
  const auto text =
      text_of(all, {"activation_checkpointing_kwargs", "gradient_checkpointing_kwargs"});
  return own ? own : text ? entry_of(*text, name) : std::nullopt;
}

bool checkpoints(const SettingList& all) {
  return is_any_on(all, {"activation_checkpointing", "gradient_checkpointing",
                         "fsdp_*activation_checkpointing", "enable_activation_checkpointing"});
}

std::string in_dashes(std::string text) {
  std::ranges::replace(text, '_', '-');
  return text;
}

/// An optimizer by a name of `optim`, with the implementation that it runs.
struct NamedOptimizer {
  std::string_view word;
  std::string_view implementation;
};

/// Names that are not the option's own words with underscores.
std::optional<NamedOptimizer> named_optimizer(std::string_view name) {
  for (const OptimizerRow& row : optimizer_table()) {
    const auto found = std::ranges::find(row.trainer, name, &TrainerOptimizer::name);
    if (found != row.trainer.end()) {
      return NamedOptimizer{row.word, found->implementation};
    }
  }
  return std::nullopt;
}

bool is_pattern(std::string_view text) {
  return text.find_first_of("*\\[(|^$") != std::string_view::npos;
}

std::string without_spaces(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\'' || c == '"'; });
  return text;
}

void offer_targets(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string text = without_spaces(setting.value);
  const bool is_all = text == "all" || text == "all-linear" || text == "true";
  const std::string layers = is_all ? all_linear_layers(model_of(all)) : text;
  if (layers.empty()) {
    keys.add_not_supported(setting.key, setting.value,
                           "all linear layers, but the model is unknown; pass --lora-targets",
                           "lora-targets");
  } else if (is_pattern(layers)) {
    keys.add_not_supported(setting.key, setting.value,
                           "a pattern of module names; give --lora-targets", "lora-targets");
  } else {
    offer(setting, "lora-targets", layers, keys);
  }
}

/// Whether the optimizer projects gradients: the only ones here that read optim_args.
bool projects_gradients(const SettingList& all) {
  const std::string name = text_of(all, {"optim", "optimizer"}).value_or("");
  return name.find("galore") != std::string::npos || name.find("apollo") != std::string::npos;
}

/// "rank=64, scale=0.25": the value of `name`.
std::optional<std::string> argument_of(const std::string& arguments, std::string_view name) {
  const std::string text = "," + without_spaces(arguments);
  const std::string mark = fmt::format(",{}=", name);
  const std::size_t at = text.find(mark);
  if (at == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t begin = at + mark.size();
  return text.substr(begin, text.find(',', begin) - begin);
}

/// Which stage the name of a file says: "ds_z2_config.json", "zero3.json", "stage_1.json"; 3 if it
/// says none.
char stage_in_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view mark : {"zero", "stage", "_z"}) {
    const std::size_t at = name.find(mark);
    const std::size_t digit =
        at == std::string_view::npos ? at : name.find_first_not_of("_-", at + mark.size());
    if (digit != std::string_view::npos && name[digit] >= '0' && name[digit] <= '3') {
      return name[digit];
    }
  }
  return '3';
}

bool ends_with_any(std::string_view key, std::initializer_list<std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return key.ends_with(end); });
}

/// "auto" in a DeepSpeed file is filled in from the program's own keys (transformers 5.23
/// integrations/deepspeed.py trainer_config_process, trainer_config_finalize).
std::string filled_in(std::string_view key, const SettingList& all) {
  const auto hidden = hidden_size_of(model_of(all));
  const std::string_view half = half_of(all);
  if (key == "fp16.enabled" || key == "bf16.enabled") {
    return half == key.substr(0, 4) ? "true" : "false";
  }
  if (hidden && key == "zero_optimization.reduce_bucket_size") {
    return std::to_string(*hidden * *hidden);
  }
  if (hidden && key == "zero_optimization.stage3_prefetch_bucket_size") {
    return std::to_string(*hidden * *hidden * 9 / 10);
  }
  if (hidden && key == "zero_optimization.stage3_param_persistence_threshold") {
    return std::to_string(*hidden * 10);
  }
  return "auto";
}

SettingList filled_in(SettingList file, const SettingList& all) {
  for (std::size_t i = 0; i < file.list().size(); ++i) {
    const Setting& setting = file.list()[i];
    if (setting.value == "auto") {
      std::string value = filled_in(setting.key, all);
      const bool is_flag = value == "true" || value == "false";
      file.replace_value(i, std::move(value), is_flag ? SettingKind::boolean : setting.kind);
    }
  }
  return file;
}

/// The flash attention of another package where PyTorch's cannot run: a window is a mask
/// (transformers 5.23 masking_utils.py), and some classes have no SDPA.
std::string_view nearest_to_flash(const SettingList& all) {
  constexpr std::array<std::string_view, 6> kWithoutSdpa{"gptj",   "codegen", "gpt_neo",
                                                         "biogpt", "gemma2",  "vaultgemma"};
  constexpr std::array<std::string_view, 5> kWithWindow{"mistral", "phi3", "starcoder2",
                                                        "gemma3_text", "olmo3"};
  const std::string family = family_of(model_of(all));
  if (std::ranges::find(kWithoutSdpa, family) != kWithoutSdpa.end()) {
    return "eager";
  }
  return std::ranges::find(kWithWindow, family) != kWithWindow.end() ? "sdpa" : "sdpa-flash";
}

}  // namespace

void offer_attention(const Setting& setting, std::string_view name, const SettingList& all,
                     SourceKeys& keys) {
  const bool is_flash = name.find("flash") != std::string_view::npos || name.starts_with("fa");
  if (!is_flash && name != "xformers") {
    offer(setting, "attention", std::string(name), keys);
    return;
  }
  const std::string_view flash = nearest_to_flash(all);
  const std::string_view word = is_flash || flash == "eager" ? flash : "sdpa-efficient";
  offer(setting, "attention", std::string(word), keys);
  keys.add_not_supported(setting.key, setting.value,
                         fmt::format("its own kernels; simulated as PyTorch's ({})", word),
                         MemorySign::little);
}

/// Unsloth's copies in 4 bits bring their own quantization_config: NF4 with double quantisation.
void offer_own_quantization(const Setting& setting, SourceKeys& keys) {
  if (!setting.value.ends_with("-bnb-4bit")) {
    return;
  }
  offer({"(quantization_config)", "the checkpoint's own"}, "quantize", "nf4", keys);
  offer({"(quantization_config)", "the checkpoint's own"}, "double-quant", "true", keys);
  if (setting.value.ends_with("-unsloth-bnb-4bit")) {
    keys.add_not_supported(setting.key, setting.value,
                           "some of its layers stay in 16 bits; simulated with all in 4",
                           MemorySign::more);
  }
}

/// Copies whose names end in another library's format are known by the sizes that they had.
void note_other_quantization(const Setting& setting, SourceKeys& keys) {
  constexpr std::array<std::string_view, 8> kFormats{"gptq", "awq",  "aqlm", "hqq",
                                                     "exl2", "gguf", "eetq", "w4a16"};
  std::string name = setting.value.substr(setting.value.find_last_of("/\\") + 1);
  std::ranges::transform(name, name.begin(),
                         [](char c) { return static_cast<char>(std::tolower(c)); });
  if (std::ranges::any_of(kFormats, [&](std::string_view format) {
        return name.find(format) != std::string::npos;
      })) {
    keys.add_not_supported(setting.key, setting.value,
                           "weights quantised by another library than bitsandbytes; simulated in "
                           "16 bits",
                           MemorySign::less);
  }
}

void read_model(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "no model is named");
  } else if (setting.kind == SettingKind::boolean) {
    keys.add_not_supported(setting.key, "without a value",
                           "what the script puts there is not set; give its arguments (--from "
                           "\"bash SCRIPT ...\") or --model",
                           "model");
  } else if (is_left_to_reader(setting.value)) {
    keys.add_not_supported(setting.key, setting.value, "a place to be filled in; give --model",
                           "model");
  } else {
    offer(setting, "model", preset_of(setting.value), keys);
    offer_own_quantization(setting, keys);
    note_other_quantization(setting, keys);
  }
}

void read_model_type(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!model_of(all).empty() || says_no(setting)) {
    keys.add_no_effect(setting.key, setting.value, "read only where no model is named");
  } else if (setting.value == "gpt2") {
    offer(setting, "model", "gpt2", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "the default size of a family; give a config.json with --model",
                           "model");
  }
}

void read_length(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.kind == SettingKind::null) {
    keys.add_not_supported(setting.key, setting.value, "texts are as long as they are; give --seq",
                           "seq");
  } else {
    offer_whole(setting, "seq", keys);
  }
}

void read_label_smoothing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting) || setting.value == "0.0" || setting.value == "0.") {
    note_off(setting, keys);
  } else {
    keys.use_if_simulated(setting.key, setting.value, "label-smoothing", setting.value,
                          MemorySign::more);
  }
}

void read_half(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    offer_precision(setting, all, keys);
  }
}

void read_dtype(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else {
    offer_precision(setting, all, keys);
  }
}

void read_attention(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else {
    offer_attention(setting, setting.value, all, keys);
  }
}

void read_flash_flag(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    note_off(setting, keys);
  } else {
    offer_attention(setting, "flash_attention_2", all, keys);
  }
}

void read_optim(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  const std::optional<NamedOptimizer> known = named_optimizer(setting.value);
  if (setting.kind == SettingKind::null || setting.value == "auto") {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else if (!known) {
    offer(setting, "optimizer", in_dashes(setting.value), keys);
  } else {
    offer(setting, "optimizer", std::string(known->word), keys);
    if (!known->implementation.empty()) {
      offer(setting, "optimizer-impl", std::string(known->implementation), keys);
    }
  }
}

void read_optim_args(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  if (!projects_gradients(all)) {
    return keys.add_not_supported(setting.key, setting.value, "arguments of the optimizer");
  }
  // transformers 5.23, trainer_optimizer.py _get_galore_optimizer, _get_apollo_optimizer.
  const bool is_one = setting.key.find("optim_args.") != std::string::npos;
  const auto rank = is_one ? std::nullopt : argument_of(setting.value, "rank");
  if (rank || setting.key.ends_with(".rank")) {
    offer_whole({setting.key, rank.value_or(setting.value)}, "optimizer-rank", keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "changes numbers, not sizes");
  }
}

void read_optim_targets(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting) || !projects_gradients(all)) {
    keys.add_no_effect(setting.key, setting.value, "read with GaLore and APOLLO only");
  } else if (is_same_key(setting.value, "all-linear")) {
    keys.add_no_effect(setting.key, setting.value, "every linear layer, as here");
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "simulated with every linear layer projected (all-linear)");
  }
}

void read_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string every = checkpoint_argument(all, "every_n_layers").value_or("1");
  if (says_no(setting)) {
    offer(setting, "checkpoint", "none", keys);
  } else {
    offer(setting, "checkpoint", every == "1" ? "full" : "every-" + every, keys);
  }
}

void read_no_checkpointing(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer(setting, "checkpoint", says_no(setting) ? "full" : "none", keys);
}

void read_checkpoint_kwargs(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const auto reentrant = entry_of(setting.value, "use_reentrant");
  if (reentrant) {
    read_reentrant({setting.key, *reentrant}, all, keys);
  } else if (says_no(setting) || entry_of(setting.value, "every_n_layers")) {
    keys.add_no_effect(setting.key, setting.value, "read with the key it belongs to");
  } else {
    keys.add_not_supported(setting.key, setting.value, "a different recomputation scheme");
  }
}

void read_reentrant(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool is_reentrant = setting.value == "true" || setting.value == "True";
  if (!checkpoints(all)) {
    keys.add_no_effect(setting.key, setting.value, "nothing is checkpointed");
  } else {
    offer(setting, "checkpoint-impl", is_reentrant ? "reentrant" : "nonreentrant", keys);
  }
}

void read_compile_backend(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (is_same_key(setting.value, "inductor")) {
    offer(setting, "compile", "true", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "another compiler than torch.compile's own default");
  }
}

void read_compile_mode(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.kind == SettingKind::null) {
    keys.add_no_effect(setting.key, setting.value, "left to the default");
  } else if (setting.value == "default") {
    offer(setting, "compile", "true", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "another mode than torch.compile's own default");
  }
}

void read_liger(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  offer(setting, "loss", "fused", keys);
  keys.add_not_supported(setting.key, setting.value,
                         "Liger's norms and gates, which save fewer activations than simulated",
                         MemorySign::less);
}

void read_empty_cache(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting) || setting.value == "-1") {
    note_off(setting, keys);
  } else if (setting.value == "1") {
    offer(setting, "empty-cache-every-step", "true", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "the cache is emptied after some steps; here after each or none",
                           MemorySign::little);
  }
}

void read_backend(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.kind == SettingKind::null || setting.value == "nccl") {
    keys.add_no_effect(setting.key, setting.value, std::string(kAsItIsHere));
  } else {
    keys.add_not_supported(setting.key, setting.value, "NCCL carries the collectives here",
                           MemorySign::little);
  }
}

void read_use_lora(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (first_like(all, "lora_r") == nullptr) {
    // trl 1.16 trainer/model_config.py; others name their rank.
    offer(setting, "lora", first_like(all, "use_lora") == nullptr ? "16" : "8", keys);
  } else {
    keys.add_no_effect(setting.key, setting.value, "read with lora_r");
  }
}

void read_lora_key(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!trains_adapters(all)) {
    keys.add_no_effect(setting.key, setting.value, "read only where adapters are trained");
  } else if (setting.kind == SettingKind::null || says_no(setting)) {
    note_off(setting, keys);
  } else if (ends_with_any(setting.key, {"lora_r", "lora_rank", "lora-r", ".r"})) {
    offer_whole(setting, "lora", keys);
  } else if (ends_with_any(setting.key, {"dropout"})) {
    offer(setting, "lora-dropout", setting.value, keys);
  } else {
    offer_targets(setting, all, keys);
  }
}

void offer_zero_init(const Setting& setting, SourceKeys& keys) {
  offer(setting, "zero-init", "true", keys);
  offer(setting, "init", "device", keys);
}

void read_deepspeed(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  const std::string text = setting.value.starts_with('{')
                               ? setting.value
                               : configuration_text(setting.value).value_or("");
  if (text.empty()) {
    keys.add_not_supported(
        setting.key, setting.value,
        fmt::format("file not found; pass it with a second --from, or what it sets "
                    "(--dp-kind zero{})",
                    stage_in_name(setting.value)),
        "dp-kind");
    return;
  }
  read_deepspeed_text(setting, text, all, keys);
}

void read_deepspeed_text(const Setting& setting, const std::string& text, const SettingList& all,
                         SourceKeys& keys) {
  keys.add_no_effect(setting.key, setting.value, "its keys follow");
  const SettingList file = filled_in(read_json_settings(text, setting.value), all);
  read_deepspeed_settings(file, keys);
  // transformers 5.23 integrations/deepspeed.py: from_pretrained() runs inside of zero.Init().
  if (text_of(file, {"zero_optimization.stage"}).value_or("0") == "3") {
    offer_zero_init({"(zero.Init)", "true"}, keys);
  }
}

void read_replicas(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting) || setting.value == "1") {
    note_off(setting, keys);
  } else {
    offer_whole(setting, "dp-replicate", keys);
  }
}

void read_tensor_size(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (says_no(setting) || setting.value == "1") {
    return note_off(setting, keys);
  }
  offer_whole(setting, "tp", keys);
  offer(setting, "tp-kind", "dtensor", keys);
}

}  // namespace highwater::program_table
