// axolotl's YAML files, which become TrainingArguments.
//
// Source: axolotl of July 2026 (commit 067b021): utils/schemas/*.py, utils/config/__init__.py,
// core/builders/base.py, loaders/model.py, loaders/adapter.py, integrations/*/args.py.

#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

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
