// axolotl's YAML files, which become TrainingArguments.
//
// Source: axolotl of July 2026 (commit 067b021): utils/schemas/*.py, utils/config/__init__.py,
// core/builders/base.py, loaders/model.py, loaders/adapter.py, integrations/*/args.py.
#include <array>

#include "workloads/plan/sources/programs/hugging_face/axolotl_rules.hpp"
#include "workloads/plan/sources/programs/hugging_face/fsdp_rules.hpp"
#include "workloads/plan/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/plan/sources/programs/hugging_face/training_arguments.hpp"
#include "workloads/plan/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

constexpr auto kAxolotlRules = joined_rules(kAxolotlArguments, kFsdpRules, kTrainingArguments);

void finish_axolotl(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "transformers' Trainer"}, "framework", "trainer", keys);
  offer_fsdp_kind(all, keys);
  offer_axolotl_quantization(all, keys);
  note_missing_ranks(all, keys);
  const bool has_attention = is_any_on(
      all, {"attn_implementation", "flash_attention", "xformers_attention", "flex_attention"});
  // loaders/model.py _configure_embedding_dtypes.
  if (!has_attention && !is_any_on(all, {"adapter"}) && sharding_of(all) == Sharding::none) {
    keys.add_not_supported("(norms)", "fp32",
                           "without flash attention, norms and embeddings are kept in fp32");
  }
}

}  // namespace

const Program& axolotl() {
  static constexpr std::array<std::string_view, 2> kScripts{"axolotl train", "axolotl.cli.train"};
  static constexpr std::array kDefaults{
      ProgramDefault{"bf16", "auto"}, ProgramDefault{"optimizer", "adamw_torch_fused"},
      ProgramDefault{"micro_batch_size", "1"}, ProgramDefault{"sequence_len", "512"}};
  static constexpr Program kProgram{.name = "axolotl",
                                    .releases = "axolotl 0.4 to July 2026",
                                    .rules = kAxolotlRules,
                                    .scripts = kScripts,
                                    .defaults = kDefaults,
                                    .finish = finish_axolotl};
  return kProgram;
}

}  // namespace highwater::program_table
