// DeepSpeed's JSON file.
//
// Source: deepspeed 0.19.8 runtime/config.py, runtime/constants.py, runtime/zero/config.py,
// runtime/zero/offload_config.py, runtime/precision_config.py.

#include "workloads/sources/programs/hugging_face/deepspeed_readers.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

void finish_deepspeed(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "DeepSpeed's engine"}, "framework", "deepspeed", keys);
  if (first_like(all, "zero_optimization.*") == nullptr) {
    offer({"(zero_optimization.stage)", "0"}, "dp-kind", "zero0", keys);
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
