// Adapters of PEFT.
#pragma once

#include <string>
#include <vector>

namespace highwater {

struct Lora {
  int rank = 0;  ///< 0: no LoRA
  double dropout = 0.0;
  std::vector<std::string> targets;  ///< module name endings; empty: PEFT's default of the family
  bool dora = false;                 ///< with a magnitude for each output (use_dora)
};

}  // namespace highwater
