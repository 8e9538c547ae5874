// What starts the processes of a run: how many ranks there are. And the variables of a launch
// script that PyTorch's allocator reads.
#include <array>
#include <string>

#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

/// Ranks of all nodes: `per_node` names the key with those of one.
void use_ranks(const Setting& setting, const SettingList& all, std::string_view nodes,
               SourceKeys& keys) {
  const auto per_node = all.whole(setting.key);
  const auto count = all.find(nodes) == nullptr ? 1 : all.whole(nodes);
  if (!per_node || !count) {
    keys.add_not_supported(setting.key, setting.value, "the number of GPUs; give --dp", "dp");
  } else {
    offer(setting, "gpus", std::to_string(*per_node * *count), keys);
  }
}

void read_torchrun_ranks(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  use_ranks(setting, all, "nnodes", keys);
}

void read_srun_ranks(const Setting& setting, const SettingList& all, SourceKeys& keys) {
  use_ranks(setting, all, "nodes", keys);
}

constexpr std::array kLauncherReaders{
    NamedReader{"srun_ranks", read_srun_ranks},
    NamedReader{"torchrun_ranks", read_torchrun_ranks},
};

}  // namespace

const Program& torchrun() {
  static const Program kProgram = program_of_facts("torchrun", {kLauncherReaders});
  return kProgram;
}

const Program& srun() {
  static const Program kProgram = program_of_facts("srun", {kLauncherReaders});
  return kProgram;
}

const Program& environment() {
  static const Program kProgram = program_of_facts("environment");
  return kProgram;
}

}  // namespace highwater::program_table
