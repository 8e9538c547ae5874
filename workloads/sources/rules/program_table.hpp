// The rows of programs.cpp, each made in a file of its own.
#pragma once

#include "workloads/sources/rules/program_row.hpp"

namespace highwater::program_table {

// What starts processes (launchers.cpp) ...
const Program& torchrun();
const Program& srun();
const Program& environment();
const Program& accelerate_launch();
const Program& deepspeed_launcher();

// ... and what trains.
const Program& torchtitan();
const Program& megatron();
const Program& megatron_others();
const Program& torchtune();
const Program& trainer();
const Program& seq2seq_scripts();
const Program& plain_loop();
const Program& own_scripts();
const Program& alpaca_lora();
const Program& qlora_script();
const Program& trl_sft();
const Program& trl_dpo();
const Program& trl_kto();
const Program& trl_orpo();
const Program& trl_reward();
const Program& trl_grpo();
const Program& trl_rloo();
const Program& trl_others();
const Program& accelerate();
const Program& deepspeed_file();
const Program& deepspeed_chat();
const Program& deepspeed_scripts();
const Program& axolotl();
const Program& llamafactory();
const Program& llamafactory_second();
const Program& ms_swift();
const Program& ms_swift_others();
const Program& oumi();
const Program& automodel();
const Program& wandb();
const Program& verl();
const Program& colossalai();
const Program& nemo();
const Program& primus();
const Program& megatron_bridge();
const Program& torchtitan_python();

}  // namespace highwater::program_table
