// accelerate: the YAML file of `accelerate config`, and the options of `accelerate launch`.
//
// Source: accelerate 1.15 commands/config/config_args.py, commands/config/cluster.py,
// commands/launch.py, utils/dataclasses.py.
#include <array>

#include <fmt/format.h>

#include "workloads/sources/programs/hugging_face/hugging_face.hpp"
#include "workloads/sources/programs/hugging_face/settings_facts.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

void read_distributed_type(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string& type = setting.value;
  if (type == "NO" || type == "false") {
    keys.add_no_effect(setting.key, type, "one process");
  } else if (type == "MULTI_GPU") {
    offer(setting, "dp-kind", "ddp", keys);
  } else if (type.starts_with("MULTI_") && type != "MULTI_CPU") {
    offer(setting, "dp-kind", "ddp", keys);
    keys.add_not_supported(setting.key, type, "another device; simulated as GPUs");
  } else if (type == "FSDP") {
    offer(setting, "dp-kind", sharding_of(all) == Sharding::fsdp1 ? "fsdp1" : "fsdp2", keys);
  } else if (type == "DEEPSPEED") {
    keys.add_no_effect(setting.key, type, "read with deepspeed_config");
  } else {
    keys.add_not_supported(setting.key, type, "another way to spread a model; give --dp-kind",
                           "dp-kind");
  }
}

void read_distributed_flag(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    return note_off(setting, keys);
  }
  const std::string_view type = is_same_key(setting.key, "multi_gpu")  ? "MULTI_GPU"
                                : is_same_key(setting.key, "use_fsdp") ? "FSDP"
                                                                       : "DEEPSPEED";
  read_distributed_type({setting.key, std::string(type)}, all, keys);
}

/// commands/launch.py: num_processes counts those of all machines.
void read_processes(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  const auto count = whole_number(setting.value);
  if (!count || *count < 1) {
    keys.add_not_supported(setting.key, setting.value, "the number of GPUs; give --dp", "dp");
  } else {
    offer(setting, "gpus", std::to_string(*count), keys);
  }
}

void read_mixed_precision(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const std::string half =
      is_same_key(setting.key, "fp16") && !says_no(setting) ? "fp16" : setting.value;
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (half == "fp8") {
    keys.add_no_effect(setting.key, half, "read with fp8_config");
  } else if (const auto word = precision_word("fp32", half, all)) {
    offer(setting, "precision", *word, keys);
  }
}

/// utils/dataclasses.py: torchao's products are Highwater's float8; Transformer Engine's are not.
void read_fp8_backend(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (!is_any_on(all, {"mixed_precision"}) || text_of(all, {"mixed_precision"}) != "fp8") {
    keys.add_no_effect(setting.key, setting.value, "read only with mixed_precision fp8");
  } else if (is_same_key(setting.value, "AO") || is_same_key(setting.value, "torchao")) {
    offer(setting, "float8", "true", keys);
  } else {
    keys.add_not_supported(setting.key, setting.value, "products in 8 bits by another library",
                           MemorySign::less);
  }
}

void read_zero_offload_device(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  const bool optimizer = is_any_on(all, {"*offload_optimizer_device"});
  const bool params = is_any_on(all, {"*offload_param_device"}) &&
                      text_of(all, {"*zero_stage"}).value_or("2") == "3";
  if (says_no(setting) || (!optimizer && !params)) {
    note_off(setting, keys);
  } else {
    offer(setting, "offload", optimizer && params ? "both" : params ? "params" : "optimizer", keys);
  }
}

void read_zero3_init(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  if (says_no(setting)) {
    note_off(setting, keys);
  } else if (text_of(all, {"*zero_stage"}).value_or("2") != "3") {
    keys.add_no_effect(setting.key, setting.value, "read with stage 3 only");
  } else {
    offer_zero_init(setting, keys);
  }
}

/// A script of the user's own with accelerate; a script that is known says more.
void finish_accelerate(const SettingList& all, SourceKeys& keys) {
  const Sharding sharding = sharding_of(all);
  if (sharding == Sharding::deepspeed) {
    offer({"(framework)", "DeepSpeed's engine"}, "framework", "deepspeed", keys);
  } else if (sharding != Sharding::none) {
    offer({"(framework)", "accelerate"}, "framework", "accelerate-fsdp2", keys);
  }
  const bool has_file = first_like(all, "*deepspeed_config_file") != nullptr;
  if (sharding == Sharding::deepspeed && !has_file && first_like(all, "*zero_stage") == nullptr) {
    offer({"(zero_stage)", "2"}, "dp-kind", "zero2", keys);
  }
}

constexpr std::array kAccelerateReaders{
    NamedReader{"distributed_flag", read_distributed_flag},
    NamedReader{"distributed_type", read_distributed_type},
    NamedReader{"fp8_backend", read_fp8_backend},
    NamedReader{"mixed_precision", read_mixed_precision},
    NamedReader{"processes", read_processes},
    NamedReader{"zero3_init", read_zero3_init},
    NamedReader{"zero_offload_device", read_zero_offload_device},
};

}  // namespace

const Program& accelerate() {
  static const Program kProgram = program_of_facts(
      "accelerate", {kAccelerateReaders, hugging_face_readers()}, finish_accelerate);
  return kProgram;
}

/// `accelerate launch`: the script that it starts says which loop runs.
const Program& accelerate_launch() {
  static const Program kProgram =
      program_of_facts("accelerate_launch", {kAccelerateReaders, hugging_face_readers()});
  return kProgram;
}

}  // namespace highwater::program_table
