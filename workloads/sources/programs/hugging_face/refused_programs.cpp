// Programs whose lines are known and refused, so that no other program's rules read them.
//
// Sources: verl 0.5, verl/trainer/main_ppo.py, trainer/config/*.yaml; ColossalAI 0.4,
// colossalai/cli/launcher.
#include "traces/error.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

void refuse_verl(const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  static_cast<void>(keys);
  throw InputError(
      "", "verl", "its trainers are not simulated",
      "record the run instead (highwater record), or give --model and options for what "
      "the trained model alone takes");
}

void refuse_colossalai(const SettingList& all, SourceKeys& keys) {
  static_cast<void>(all);
  static_cast<void>(keys);
  throw InputError("", "colossalai run",
                   "scripts under ColossalAI choose their plugin in Python, so their launch lines "
                   "are not read",
                   "give --model and options; Gemini is --framework colossalai-gemini");
}

}  // namespace

const Program& verl() {
  static const Program kProgram = program_of_facts("verl", {}, refuse_verl);
  return kProgram;
}

const Program& colossalai() {
  static const Program kProgram = program_of_facts("colossalai", {}, refuse_colossalai);
  return kProgram;
}

}  // namespace highwater::program_table
