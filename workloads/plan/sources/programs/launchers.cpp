// What starts the processes of a run: how many ranks there are. And the variables of a launch
// script that PyTorch's allocator reads.
#include <array>
#include <string>

#include "workloads/plan/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

constexpr std::string_view kStart = "how processes find each other";

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

// torch 2.15, distributed/run.py get_args_parser.
constexpr std::array kTorchrun{
    by_context("nproc_per_node", read_torchrun_ranks),
    ignored("nnodes", "counted with the processes of a node"),
    ignored("standalone", kStart),
    ignored("rdzv_*", kStart),
    ignored("master_*", kStart),
    ignored("node_rank", kStart),
    ignored("local_addr", kStart),
    ignored("max_restarts", kStart),
    ignored("monitor_interval", kStart),
    ignored("start_method", kStart),
    ignored("role", kStart),
    ignored("run_path", kStart),
    ignored("event_log_handler", "logging"),
    ignored("logs_specs", "logging"),
    ignored("log_dir", "logging"),
    ignored("tee", "logging"),
    ignored("redirects", "logging"),
    ignored("local_ranks_filter", "logging"),
    ignored("local_rank*", kStart),
    ignored("numa_binding", "where a process runs"),
    ignored("m", kStart),
    ignored("module", kStart),
    ignored("no_python", kStart),
    ignored("use_env", kStart),
};

// srun(1) of Slurm 24.
constexpr std::array kSrun{
    by_context("ntasks_per_node", read_srun_ranks),
    by_context("gpus_per_node", read_srun_ranks),
    ignored("*", "how Slurm places the job"),
};

// torch 2.15, c10/cuda/CUDAAllocatorConfig.h; both names of the variable.
constexpr std::array kEnvironment{
    becomes("PYTORCH_CUDA_ALLOC_CONF", "alloc-conf"),
    becomes("PYTORCH_ALLOC_CONF", "alloc-conf"),
};

}  // namespace

const Program& torchrun() {
  static constexpr Program kProgram{
      .name = "torchrun", .releases = "torch 2.15", .rules = kTorchrun};
  return kProgram;
}

const Program& srun() {
  static constexpr Program kProgram{.name = "srun", .releases = "Slurm 24", .rules = kSrun};
  return kProgram;
}

const Program& environment() {
  static constexpr Program kProgram{
      .name = "environment", .releases = "torch 2.15", .rules = kEnvironment};
  return kProgram;
}

}  // namespace highwater::program_table
