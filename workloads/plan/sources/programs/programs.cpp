#include <array>

#include "workloads/plan/sources/rules/program_table.hpp"

namespace highwater {

std::span<const Program* const> programs() {
  namespace table = program_table;
  // Keys that many programs share are those of TrainingArguments.
  static const std::array kPrograms{
      &table::trainer(),         &table::torchtitan(),     &table::torchtitan_python(),
      &table::torchtune(),       &table::megatron(),       &table::megatron_others(),
      &table::megatron_bridge(), &table::nemo(),           &table::plain_loop(),
      &table::trl_sft(),         &table::trl_others(),     &table::accelerate(),
      &table::deepspeed_file(),  &table::deepspeed_chat(), &table::deepspeed_scripts(),
      &table::axolotl(),         &table::llamafactory(),   &table::llamafactory_second(),
      &table::own_scripts(),     &table::qlora_script(),   &table::primus()};
  return kPrograms;
}

std::span<const Program* const> launchers() {
  namespace table = program_table;
  static const std::array kLaunchers{&table::torchrun(), &table::srun(), &table::environment(),
                                     &table::accelerate_launch(), &table::deepspeed_launcher()};
  return kLaunchers;
}

}  // namespace highwater
