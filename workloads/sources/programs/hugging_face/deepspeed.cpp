// DeepSpeed's JSON file.
//
// Source: deepspeed 0.19.8 runtime/config.py, runtime/constants.py, runtime/zero/config.py,
// runtime/zero/offload_config.py, runtime/precision_config.py.

#include <algorithm>

#include "workloads/sources/programs/hugging_face/deepspeed_readers.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

/// "auto" is what the program that reads the file knows, which says the type as well where the file
/// does not (accelerate 1.15, utils/dataclasses.py DeepSpeedPlugin.set_mixed_precision).
bool is_filled_in(const SettingList& all) {
  return std::ranges::any_of(all.list(),
                             [](const Setting& setting) { return setting.value == "auto"; });
}

void finish_deepspeed(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "DeepSpeed's engine"}, "framework", "deepspeed", keys);
  if (first_like(all, "zero_optimization.*") == nullptr) {
    offer({"(zero_optimization.stage)", "0"}, "dp-kind", "zero0", keys);
  }
  if (is_filled_in(all) && first_like(all, "*16*") == nullptr) {
    keys.add_not_supported("(precision)", "not in this file",
                           "filled in from the program's own --bf16 or --fp16; give --precision",
                           "precision");
  }
}

}  // namespace

void read_deepspeed_settings(const SettingList& file, SourceKeys& keys) {
  apply_rules(deepspeed_file().keys, file, file, keys);
}

const Program& deepspeed_file() {
  static const Program kProgram =
      program_of_facts("deepspeed", {hugging_face_readers()}, finish_deepspeed);
  return kProgram;
}

}  // namespace highwater::program_table
