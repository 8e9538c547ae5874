// Primus (AMD): YAML files around Megatron-LM, whose arguments stand under "overrides".
//
// Source: AMD-AGI/Primus (commit fd1eeab), primus/configs/modules/megatron/pre_trainer.yaml and
// trainer_base.yaml, primus/configs/models/megatron/*_base.yaml.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <string_view>
#include <utility>

#include "workloads/sources/programs/megatron/megatron_readers.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

using namespace megatron_keys;

/// "qwen2.5_72B.yaml": one of Primus's own files, which has the model's sizes.
void read_primus_model(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  std::string name = setting.value.substr(0, setting.value.rfind(".yaml"));
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  // llama2_7B, llama3_8B
  if (name.starts_with("llama") && name.size() > 5 && name[5] != '-') {
    name.insert(5, "-");
  }
  offer(setting, "model", name, keys);
}

void read_primus_framework(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  if (setting.value == "megatron") {
    keys.add_no_effect(setting.key, setting.value, "whose arguments follow");
  } else {
    keys.add_not_supported(setting.key, setting.value,
                           "of Primus's backends Megatron-LM alone is read; give --model, and what "
                           "the file sets",
                           "model");
  }
}

/// What stands in pre_trainer.yaml and trainer_base.yaml for keys that the file leaves out.
void finish_primus(const SettingList& all, SourceKeys& keys) {
  const auto offer_default = [&](std::string_view option, std::string word) {
    offer({"(primus)", "pre_trainer.yaml"}, option, std::move(word), keys);
  };
  offer_default("framework", "megatron");
  if (all.find("bf16") == nullptr && all.find("fp16") == nullptr) {
    offer_default("precision", "bf16");
    offer_default("fp32-grads", "false");
  }
  if (all.find("use_flash_attn") == nullptr) {
    offer_default("attention", "sdpa-flash");
  }
  if (all.find("use_distributed_optimizer") == nullptr && !all.is_on("use_torch_fsdp2")) {
    offer_default("dp-kind", "zero1");
  }
}

constexpr std::array kPrimusReaders{
    NamedReader{"primus_framework", read_primus_framework},
    NamedReader{"primus_model", read_primus_model},
};

}  // namespace

const Program& primus() {
  static const Program kProgram =
      program_of_facts("primus", {kPrimusReaders, megatron_readers()}, finish_primus);
  return kProgram;
}

}  // namespace highwater::program_table
