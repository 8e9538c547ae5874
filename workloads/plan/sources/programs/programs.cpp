#include <array>

#include "workloads/plan/sources/rules/program_table.hpp"

namespace highwater {

std::span<const Program> programs() {
  namespace table = program_table;
  static const std::array kPrograms{table::torchtitan(), table::megatron(),
                                    table::megatron_others(), table::torchtune()};
  return kPrograms;
}

std::span<const Program> launchers() {
  namespace table = program_table;
  static const std::array kLaunchers{table::torchrun(), table::srun(), table::environment()};
  return kLaunchers;
}

}  // namespace highwater
