// axolotl's YAML files, which become TrainingArguments.
//
// Source: axolotl of July 2026 (commit 067b021): utils/schemas/*.py, utils/config/__init__.py,
// core/builders/base.py, loaders/model.py, loaders/adapter.py, integrations/*/args.py.

#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

/// utils/schemas/config.py check_auto_enable_lora_kernels, since 0.10 (April 2025).
bool turns_kernels_on(const SettingList& all) {
  const bool is_told = all.has_like("lora_*_kernel");
  const bool has_8bit_lora =
      text_of(all, {"adapter"}).value_or("") == "lora" && is_any_on(all, {"load_in_8bit"});
  return trains_adapters(all) && !is_told && !has_8bit_lora &&
         !is_any_on(all, {"trust_remote_code"}) && sharding_of(all) != Sharding::fsdp1;
}

void finish_axolotl(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "transformers' Trainer"}, "framework", "trainer", keys);
  offer_fsdp_kind(all, keys);
  offer_axolotl_quantization(all, keys);
  note_missing_ranks(all, keys);
  if (turns_kernels_on(all)) {
    keys.add_not_supported("(lora_*_kernel)", "true",
                           "axolotl turns its fused LoRA kernels on since 0.10, which save fewer "
                           "activations",
                           MemorySign::less);
  }
  const bool has_attention = is_any_on(
      all, {"attn_implementation", "flash_attention", "xformers_attention", "flex_attention"});
  // loaders/model.py _configure_embedding_dtypes.
  if (!has_attention && !is_any_on(all, {"adapter"}) && sharding_of(all) == Sharding::none) {
    keys.add_not_supported("(norms)", "fp32",
                           "without flash attention, norms and embeddings are kept in fp32",
                           MemorySign::more);
  }
}

}  // namespace

const Program& axolotl() {
  static const Program kProgram =
      program_of_facts("axolotl", {hugging_face_readers()}, finish_axolotl);
  return kProgram;
}

}  // namespace highwater::program_table
