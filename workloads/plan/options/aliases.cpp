#include "workloads/plan/options/aliases.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "workloads/plan/optimizer_table.hpp"

namespace highwater {
namespace {

constexpr std::array kOptionAliases{
    // transformers 5.12 training_args.py and examples/pytorch/language-modeling/run_clm.py
    OptionAlias{"model-name-or-path", "model"},
    OptionAlias{"per-device-train-batch-size", "batch"},
    OptionAlias{"gradient-accumulation-steps", "grad-accum"},
    OptionAlias{"gradient-checkpointing", "checkpoint", "full"},
    OptionAlias{"bf16", "precision", "amp-bf16"},
    OptionAlias{"fp16", "precision", "amp-fp16"},
    OptionAlias{"torch-dtype", "precision"},
    OptionAlias{"dtype", "precision"},
    OptionAlias{"attn-implementation", "attention"},
    OptionAlias{"optim", "optimizer"},
    OptionAlias{"max-grad-norm", "grad-clip"},
    OptionAlias{"max-steps", "steps"},
    OptionAlias{"block-size", "seq"},
    OptionAlias{"torch-compile", "compile", "true"},
    // trl trainer/sft_config.py, trl scripts/utils.py ModelConfig, peft
    OptionAlias{"max-length", "seq"},
    OptionAlias{"max-seq-length", "seq"},
    OptionAlias{"lora-r", "lora"},
    OptionAlias{"lora-target-modules", "lora-targets"},
    OptionAlias{"use-dora", "dora", "true"},
    OptionAlias{"load-in-4bit", "quantize", "nf4"},
    OptionAlias{"load-in-8bit", "quantize", "int8"},
    OptionAlias{"use-bnb-nested-quant", "double-quant", "true"},
    // transformers 5.23 utils/quantization_config.py BitsAndBytesConfig
    OptionAlias{"bnb-4bit-quant-type", "quantize"},
    OptionAlias{"bnb-4bit-use-double-quant", "double-quant"},
    OptionAlias{"bnb-4bit-quant-storage", "quant-storage"},
    OptionAlias{"bnb-4bit-compute-dtype", "quant-compute-dtype"},
    // Megatron-LM training/arguments.py
    OptionAlias{"micro-batch-size", "batch"},
    OptionAlias{"seq-length", "seq"},
    OptionAlias{"tensor-model-parallel-size", "tp"},
    OptionAlias{"pipeline-model-parallel-size", "pp"},
    OptionAlias{"context-parallel-size", "cp"},
    OptionAlias{"expert-model-parallel-size", "ep"},
    OptionAlias{"expert-tensor-parallel-size", "etp"},
    OptionAlias{"sequence-parallel", "sp", "true"},
    OptionAlias{"cp-comm-type", "cp-kind"},
    OptionAlias{"recompute-granularity", "checkpoint"},
    OptionAlias{"clip-grad", "grad-clip"},
    // accelerate commands/launch.py and DeepSpeed
    OptionAlias{"zero-stage", "dp-kind"},
    OptionAlias{"activation-checkpointing", "checkpoint", "full"},
    OptionAlias{"data-parallel-size", "dp"},
    OptionAlias{"tensor-parallel-size", "tp"},
    OptionAlias{"pipeline-parallel-size", "pp"},
    // torchtitan
    OptionAlias{"compile.enable", "compile", "true"},
    OptionAlias{"fp8", "float8", "true"},
    // plain scripts
    OptionAlias{"batch-size", "batch"},
    OptionAlias{"seq-len", "seq"},
    OptionAlias{"max-seq-len", "seq"},
    OptionAlias{"sequence-length", "seq"},
};

constexpr std::array kValueAliases{
    // torch.dtype, and Lightning's Trainer(precision=...)
    ValueAlias{"precision", "float32", "fp32"},
    ValueAlias{"precision", "bfloat16", "bf16"},
    ValueAlias{"precision", "float16", "fp16"},
    ValueAlias{"precision", "half", "fp16"},
    ValueAlias{"precision", "32-true", "fp32"},
    ValueAlias{"precision", "bf16-true", "bf16"},
    ValueAlias{"precision", "16-true", "fp16"},
    ValueAlias{"precision", "bf16-mixed", "amp-bf16"},
    ValueAlias{"precision", "16-mixed", "amp-fp16"},
    ValueAlias{"quant-storage", "bfloat16", "bf16"},
    ValueAlias{"quant-storage", "float16", "fp16"},
    ValueAlias{"quant-storage", "float32", "fp32"},
    ValueAlias{"quant-compute-dtype", "bfloat16", "bf16"},
    ValueAlias{"quant-compute-dtype", "float16", "fp16"},
    ValueAlias{"quant-compute-dtype", "float32", "fp32"},
    // torchao 0.18 quantization/quant_api.py
    ValueAlias{"quantize", "int8weightonlyconfig", "int8-weight-only"},
    ValueAlias{"quantize", "int8wo", "int8-weight-only"},
    ValueAlias{"quantize", "int8-weight-only", "int8-weight-only"},
    // the words of transformers with dashes
    ValueAlias{"experts", "batched-mm", "batched_mm"},
    ValueAlias{"experts", "grouped-mm", "grouped_mm"},
    // DeepSpeed's "stage"
    ValueAlias{"dp-kind", "0", "zero0"},
    ValueAlias{"dp-kind", "1", "zero1"},
    ValueAlias{"dp-kind", "2", "zero2"},
    ValueAlias{"dp-kind", "3", "zero3"},
    ValueAlias{"dp-kind", "zero-0", "zero0"},
    ValueAlias{"dp-kind", "zero-1", "zero1"},
    ValueAlias{"dp-kind", "zero-2", "zero2"},
    ValueAlias{"dp-kind", "zero-3", "zero3"},
    // Megatron-LM's --cp-comm-type
    ValueAlias{"cp-kind", "p2p", "ring"},
    ValueAlias{"cp-kind", "a2a", "ulysses"},
};

/// A value of other programs, and the modelled one whose memory is nearest to it, if any is near.
struct UnmodelledValue {
  std::string_view option;
  std::string_view text;
  std::string_view nearest = {};
  std::string_view reason = {};  ///< why their own code refuses it
};

constexpr std::string_view kOnlyInt8 =
    "PEFT trains no adapters beside torchao's 4-bit weights (\"only supports int8 weights for "
    "now\"), whose product has no backward pass";
constexpr std::string_view kNoGradients =
    "torchao's products of inputs in 8 bits have no backward pass";

constexpr std::array kUnmodelledValues{
    UnmodelledValue{"precision", "fp8"},
    UnmodelledValue{"precision", "float8"},
    UnmodelledValue{"precision", "mxfp8"},
    // torchao 0.18; peft 0.21 tuners/lora/torchao.py, transformers 5.23
    // quantizers/quantizer_torchao.py is_trainable
    UnmodelledValue{"quantize", "int4-weight-only", "nf4", kOnlyInt8},
    UnmodelledValue{"quantize", "int4weightonlyconfig", "nf4", kOnlyInt8},
    UnmodelledValue{"quantize", "int8-dynamic-activation-int8-weight", "int8-weight-only",
                    kNoGradients},
    UnmodelledValue{"quantize", "int8dynamicactivationint8weightconfig", "int8-weight-only",
                    kNoGradients},
    UnmodelledValue{"quantize", "float8-weight-only", "int8-weight-only"},
    UnmodelledValue{"quantize", "gptq", "nf4"},
    UnmodelledValue{"quantize", "awq", "nf4"},
    UnmodelledValue{"quantize", "hqq", "nf4"},
    UnmodelledValue{"attention", "flash-attention-2", "sdpa-flash"},
    UnmodelledValue{"attention", "flash-attention-3", "sdpa-flash"},
    UnmodelledValue{"attention", "flex-attention"},
    UnmodelledValue{"attention", "xformers", "sdpa-efficient"},
};

/// Types of frozen weights, which are not the precision of a run.
constexpr std::array<std::string_view, 7> kFrozenFormats{"nf4",  "fp4",  "int8", "int4",
                                                         "4bit", "8bit", "qlora"};

/// An option of other programs that a plan has no words for.
struct UnmodelledOption {
  std::string_view name;
  std::string_view what_to_do;
};

constexpr std::string_view kRecordCompiled =
    "--compile takes torch.compile's own default; record the script for another (highwater record)";
constexpr std::string_view kOtherFloat8 =
    "with --framework megatron use --fp8-recipe; --float8 is torchao's";

constexpr std::array kUnmodelledOptions{
    // torch.compile as torch, transformers, accelerate and torchtitan name it
    UnmodelledOption{"torch-compile-backend", kRecordCompiled},
    UnmodelledOption{"torch-compile-mode", kRecordCompiled},
    UnmodelledOption{"dynamo-backend", kRecordCompiled},
    // Megatron-LM training/arguments.py, torchtitan
    UnmodelledOption{"fp8-format", kOtherFloat8},
    // transformers training_args.py
    UnmodelledOption{"fsdp", "use --dp-kind fsdp1 or fsdp2, or --framework accelerate-fsdp2"},
    UnmodelledOption{"deepspeed",
                     "use --framework deepspeed with --dp-kind zero0, zero1, zero2 or "
                     "zero3"},
    UnmodelledOption{"use-liger-kernel", "for its head and loss in one, use --loss fused"},
};

/// Those of optimizers (workloads/facts/optimizers.json), then those of other options.
std::vector<ValueAlias> all_value_aliases() {
  std::vector<ValueAlias> all;
  for (const OptimizerRow& row : optimizer_table()) {
    for (const OptimizerAlias& alias : row.aliases) {
      all.push_back({"optimizer", alias.text, row.word, alias.second_option, alias.second_word});
    }
  }
  all.insert(all.end(), kValueAliases.begin(), kValueAliases.end());
  return all;
}

std::vector<UnmodelledValue> all_unmodelled_values() {
  std::vector<UnmodelledValue> all;
  for (const UnmodelledOptimizer& row : unmodelled_optimizers()) {
    all.push_back({"optimizer", row.name, row.nearest, row.reason});
  }
  all.insert(all.end(), kUnmodelledValues.begin(), kUnmodelledValues.end());
  return all;
}

std::span<const UnmodelledValue> unmodelled_values() {
  static const std::vector<UnmodelledValue> kValues = all_unmodelled_values();
  return kValues;
}

/// The row of `rows` for `text` as a value of `option`, or nullptr.
template <class Row>
const Row* find_value(std::span<const Row> rows, std::string_view option, std::string_view text) {
  const std::string key = alias_key(text);
  const auto found = std::ranges::find_if(
      rows, [&](const auto& row) { return row.option == option && row.text == key; });
  return found == rows.end() ? nullptr : &*found;
}

}  // namespace

std::span<const OptionAlias> option_aliases() {
  return kOptionAliases;
}

std::span<const ValueAlias> value_aliases() {
  static const std::vector<ValueAlias> kAliases = all_value_aliases();
  return kAliases;
}

std::string alias_key(std::string_view text) {
  std::string key;
  for (const char c : text) {
    key += c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return key;
}

const OptionAlias* find_alias(std::string_view name) {
  const auto* const found = std::ranges::find(kOptionAliases, alias_key(name), &OptionAlias::name);
  return found == kOptionAliases.end() ? nullptr : &*found;
}

std::optional<std::string_view> instead_of(std::string_view name) {
  const auto* const found =
      std::ranges::find(kUnmodelledOptions, alias_key(name), &UnmodelledOption::name);
  return found == kUnmodelledOptions.end() ? std::nullopt : std::optional(found->what_to_do);
}

namespace {

/// Words of optimizers have dashes where transformers' names have underscores.
std::string in_dashes(std::string_view option, std::string_view text) {
  return option == "optimizer" ? alias_key(text) : std::string(text);
}

}  // namespace

OptionWords in_own_words(const OptionWords& given) {
  OptionWords own;
  OptionWords implied;
  for (const auto& [option, text] : given) {
    const ValueAlias* const alias = find_value(value_aliases(), option, text);
    own.emplace_back(option, alias == nullptr ? in_dashes(option, text) : std::string(alias->word));
    if (alias != nullptr && !alias->second_option.empty()) {
      implied.emplace_back(alias->second_option, alias->second_word);
    }
  }
  for (OptionWord& word : implied) {
    if (find_word(own, word.first) == nullptr) {
      own.push_back(std::move(word));
    }
  }
  return own;
}

std::optional<std::string> not_modelled(std::string_view option, std::string_view text) {
  if (option == "precision" &&
      std::ranges::find(kFrozenFormats, alias_key(text)) != kFrozenFormats.end()) {
    return "this is a format of frozen weights; use --quantize nf4, fp4 or int8 with --lora, and "
           "--precision bf16 for what is computed";
  }
  const UnmodelledValue* const value = find_value(unmodelled_values(), option, text);
  if (value == nullptr) {
    return std::nullopt;
  }
  if (!value->reason.empty()) {
    return fmt::format("{}; the nearest is {}", value->reason, value->nearest);
  }
  return value->nearest.empty()
             ? "known, but not modelled yet; --help-all lists the values that are"
             : fmt::format("known, but not modelled yet; the nearest is {}", value->nearest);
}

}  // namespace highwater
