#include "workloads/plan/framework.hpp"

namespace highwater {

bool runs_trainer(Framework framework) {
  return framework == Framework::trainer || framework == Framework::trl_sft;
}

bool runs_accelerate(Framework framework) {
  return runs_trainer(framework) || framework == Framework::accelerate_fsdp2;
}

bool loads_checkpoint(Framework framework) {
  return runs_accelerate(framework) || framework == Framework::torchtune;
}

}  // namespace highwater
