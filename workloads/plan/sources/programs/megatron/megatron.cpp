// Megatron-LM: launch lines of pretrain_gpt.py, and files of --yaml-cfg.
//
// Source: Megatron-LM (August 2026), megatron/training/arguments.py parse_args, validate_args.
#include <array>

#include "workloads/plan/sources/programs/megatron/megatron_rules.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

void offer_megatron(std::string_view option, std::string word, SourceKeys& keys) {
  offer({"(megatron)", "its default"}, option, std::move(word), keys);
}

/// Neither --bf16 nor --fp16 is fp32; only --bf16 reduces gradients in fp32 unless told otherwise.
void finish_megatron(const SettingList& all, SourceKeys& keys) {
  offer_megatron("framework", "megatron", keys);
  if (!all.is_on("bf16") && !all.is_on("fp16")) {
    offer_megatron("precision", "fp32", keys);
  }
  if (all.is_on("fp16") && !all.is_on("accumulate_allreduce_grads_in_fp32")) {
    offer_megatron("fp32-grads", "false", keys);
  }
  if (all.text("optimizer") == "dist_muon") {  // validate_args: muon, layer-wise distributed
    offer({"optimizer", "dist_muon"}, "dp-kind", "zero1", keys);
  }
}

constexpr std::array kMegatronDefaults{ProgramDefault{"attention_dropout", "0.1"},
                                       ProgramDefault{"hidden_dropout", "0.1"},
                                       ProgramDefault{"group_query_attention", "false"}};
// "MODEL_ARGS.--": the files of Megatron-LM's own tests (tests/functional_tests/test_cases).
constexpr std::array<std::string_view, 3> kMegatronSections{"language_model.", "model_parallel.",
                                                            "MODEL_ARGS.--"};
constexpr std::string_view kMegatronReleases = "Megatron-LM 2.5 to Megatron-Core 0.19";

constexpr std::string_view kGptAlone =
    "of Megatron's programs the simulation has pretrain_gpt.py alone; give --model";

constexpr std::array kOtherModels{unsupported_model("num_layers", kGptAlone),
                                  unsupported_model("encoder_num_layers", kGptAlone),
                                  unsupported_model("decoder_num_layers", kGptAlone)};
constexpr auto kOtherRules = joined_rules(kOtherModels, megatron_keys::kMegatronRules);

}  // namespace

const Program& megatron() {
  // The others are Pai-Megatron-Patch's, around the same parser and model.
  static constexpr std::array<std::string_view, 9> kScripts{
      "pretrain_gpt.py",        "pretrain_llama*.py",   "pretrain_qwen*.py",
      "pretrain_mistral*.py",   "pretrain_mixtral*.py", "pretrain_deepseek*.py",
      "pretrain_megatron_*.py", "pretrain_mcore_*.py",  "pretrain_yi*.py"};
  static constexpr Program kProgram{.name = "megatron",
                                    .releases = kMegatronReleases,
                                    .rules = megatron_keys::kMegatronRules,
                                    .scripts = kScripts,
                                    .defaults = kMegatronDefaults,
                                    .sections = kMegatronSections,
                                    .finish = finish_megatron};
  return kProgram;
}

/// BERT, T5, Mamba and others have the same parser.
const Program& megatron_others() {
  static constexpr std::array<std::string_view, 8> kScripts{
      "pretrain_bert.py",   "pretrain_t5.py",    "pretrain_ict.py",      "pretrain_mamba.py",
      "pretrain_hybrid.py", "pretrain_retro.py", "pretrain_vision_*.py", "pretrain_vlm.py"};
  static constexpr Program kProgram{.name = "megatron (not GPT)",
                                    .releases = kMegatronReleases,
                                    .rules = kOtherRules,
                                    .scripts = kScripts,
                                    .defaults = kMegatronDefaults,
                                    .sections = kMegatronSections,
                                    .finish = finish_megatron};
  return kProgram;
}

}  // namespace highwater::program_table
