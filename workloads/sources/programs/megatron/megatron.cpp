// Megatron-LM: launch lines of pretrain_gpt.py, and files of --yaml-cfg.
//
// Source: Megatron-LM (August 2026), megatron/training/arguments.py parse_args, validate_args.

#include "workloads/sources/programs/megatron/megatron_readers.hpp"
#include "workloads/sources/rules/program_table.hpp"

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

}  // namespace

const Program& megatron() {
  static const Program kProgram =
      program_of_facts("megatron", {megatron_keys::megatron_readers()}, finish_megatron);
  return kProgram;
}

/// BERT, T5, Mamba and others have the same parser.
const Program& megatron_others() {
  static const Program kProgram =
      program_of_facts("megatron_others", {megatron_keys::megatron_readers()}, finish_megatron);
  return kProgram;
}

}  // namespace highwater::program_table
