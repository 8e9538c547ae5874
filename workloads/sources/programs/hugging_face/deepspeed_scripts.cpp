// The `deepspeed` launcher, and DeepSpeedExamples' scripts.
//
// Source: deepspeed 0.19.8 launcher/runner.py; DeepSpeedExamples of 2026
// applications/DeepSpeed-Chat/training/step1_supervised_finetuning/main.py,
// training/DeepSpeed-SuperOffload/finetune_zero3.py,
// training/DeepSpeed-ZenFlow/finetuning/finetune_llama.py.
#include <algorithm>
#include <array>
#include <string>

#include "workloads/sources/programs/hugging_face/deepspeed_readers.hpp"
#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

/// launcher/runner.py: GPUs of each node; -1 is all that there are.
void read_ds_gpus(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const auto each = whole_number(setting.value);
  const auto nodes = whole_number(text_of(all, {"num_nodes"}).value_or("1"));
  if (each && nodes && *each > 0 && *nodes > 0) {
    offer(setting, "gpus", std::to_string(*each * *nodes), keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "the number of GPUs; give --dp", "dp");
  }
}

/// "host1@host2:0,2": only named slots can be counted.
void read_ds_include(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  std::int64_t slots = 0;
  bool is_listed = true;
  std::string_view rest = setting.value;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('@'), rest.size());
    const std::string_view host = rest.substr(0, end);
    const std::size_t colon = host.find(':');
    is_listed = is_listed && colon != std::string_view::npos;
    slots += 1 + std::ranges::count(host, ',');
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (is_listed && slots > 0) {
    offer(setting, "gpus", std::to_string(slots), keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "the number of GPUs; give --dp", "dp");
  }
}

void read_offload_flag(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (zero_stage_of(all) == 0) {
    keys.add_no_effect(setting.key, setting.value, "read with stages 1 to 3 only");
  } else {
    offer(setting, "offload", zero_stage_of(all) == 3 ? "both" : "optimizer", keys);
  }
}

void read_ds_dtype(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer(setting, "precision", setting.value == "bf16" ? "bf16" : "fp16", keys);
}

/// Of reward models alone, with whatever value.
void read_reward_key(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  read_other_trainer({.key = setting.key, .value = "true"}, all, keys);
}

/// dschat/utils/ds_utils.py get_train_ds_config; FusedAdam in main.py.
void finish_deepspeed_chat(const SettingList& all, SourceKeys& keys) {
  offer({"(framework)", "DeepSpeed's engine"}, "framework", "deepspeed", keys);
  const Setting own{"(get_train_ds_config)", "its own settings"};
  if (zero_stage_of(all) > 0) {
    offer(own, "overlap-comm", "true", keys);
  }
  if (zero_stage_of(all) == 3) {
    offer(own, "param-persistence-threshold", "10000", keys);
    offer(own, "max-live-parameters", "30000000", keys);
    offer(own, "prefetch-bucket-size", "30000000", keys);
    offer(own, "zero-init", "true", keys);
  }
  offer(own, "grad-clip", "1", keys);
  offer(own, "optimizer-impl", "fused", keys);
}

void finish_deepspeed_script(const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  offer({"(framework)", "DeepSpeed's engine"}, "framework", "deepspeed", keys);
}

constexpr std::array kDeepspeedScriptReaders{
    NamedReader{"ds_dtype", read_ds_dtype},     NamedReader{"ds_gpus", read_ds_gpus},
    NamedReader{"ds_include", read_ds_include}, NamedReader{"offload_flag", read_offload_flag},
    NamedReader{"reward_key", read_reward_key},
};

}  // namespace

const Program& deepspeed_launcher() {
  static const Program kProgram =
      program_of_facts("deepspeed_launcher", {kDeepspeedScriptReaders, hugging_face_readers()});
  return kProgram;
}

const Program& deepspeed_chat() {
  static const Program kProgram = program_of_facts(
      "deepspeed_chat", {kDeepspeedScriptReaders, hugging_face_readers()}, finish_deepspeed_chat);
  return kProgram;
}

const Program& deepspeed_scripts() {
  static const Program kProgram =
      program_of_facts("deepspeed_scripts", {kDeepspeedScriptReaders, hugging_face_readers()},
                       finish_deepspeed_script);
  return kProgram;
}

}  // namespace highwater::program_table
