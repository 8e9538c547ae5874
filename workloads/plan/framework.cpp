#include "workloads/plan/framework.hpp"

namespace highwater {

bool runs_trainer(Framework framework) {
  return framework == Framework::trainer || runs_trl(framework);
}

bool runs_trl(Framework framework) {
  return framework == Framework::trl_sft || framework == Framework::trl_orpo ||
         framework == Framework::trl_reward || can_have_reference(framework);
}

bool writes_texts(Framework framework) {
  return framework == Framework::trl_grpo || framework == Framework::trl_rloo;
}

bool can_have_reference(Framework framework) {
  return framework == Framework::trl_dpo || framework == Framework::trl_kto ||
         writes_texts(framework);
}

bool runs_accelerate(Framework framework) {
  return runs_trainer(framework) || loops_around_accelerator(framework);
}

bool loops_around_accelerator(Framework framework) {
  return framework == Framework::accelerate || framework == Framework::accelerate_fsdp2;
}

bool loads_checkpoint(Framework framework) {
  return runs_accelerate(framework) || framework == Framework::torchtune;
}

}  // namespace highwater
