#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "workloads/sources/programs/own_programs.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater {
namespace {

/// Keys that many programs share are those of TrainingArguments.
std::vector<const Program*> all_programs() {
  namespace table = program_table;
  std::vector<const Program*> all{&table::trainer(),
                                  &table::seq2seq_scripts(),
                                  &table::torchtitan(),
                                  &table::torchtitan_python(),
                                  &table::torchtune(),
                                  &table::megatron(),
                                  &table::megatron_others(),
                                  &table::megatron_bridge(),
                                  &table::nemo(),
                                  &table::plain_loop(),
                                  &table::trl_sft(),
                                  &table::trl_dpo(),
                                  &table::trl_kto(),
                                  &table::trl_orpo(),
                                  &table::trl_reward(),
                                  &table::trl_grpo(),
                                  &table::trl_rloo(),
                                  &table::trl_others(),
                                  &table::accelerate(),
                                  &table::deepspeed_file(),
                                  &table::deepspeed_chat(),
                                  &table::deepspeed_scripts(),
                                  &table::axolotl(),
                                  &table::llamafactory(),
                                  &table::llamafactory_second(),
                                  &table::alpaca_lora(),
                                  &table::own_scripts(),
                                  &table::qlora_script(),
                                  &table::primus(),
                                  &table::ms_swift(),
                                  &table::ms_swift_others(),
                                  &table::oumi(),
                                  &table::automodel(),
                                  &table::wandb(),
                                  &table::verl(),
                                  &table::colossalai()};
  std::ranges::copy(own_programs(), std::back_inserter(all));
  return all;
}

}  // namespace

std::span<const Program* const> programs() {
  static const std::vector<const Program*> kPrograms = all_programs();
  return kPrograms;
}

std::span<const Program* const> launchers() {
  namespace table = program_table;
  static const std::array kLaunchers{&table::torchrun(), &table::srun(), &table::environment(),
                                     &table::accelerate_launch(), &table::deepspeed_launcher()};
  return kLaunchers;
}

}  // namespace highwater
