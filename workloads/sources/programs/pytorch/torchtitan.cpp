// torchtitan's TOML files, December 2024 to February 2026. What it says in Python since then is
// torchtitan_python.cpp.
//
// Sources: torchtitan, torchtitan/config_manager.py (December 2024) to config/job_config.py
// (February 2026, 0.2.2); models/llama/__init__.py; models/llama3/infra/parallelize.py;
// distributed/pipeline_parallel.py; extensions: models/flux, components/ft, experiments.
#include <algorithm>
#include <string>

#include "workloads/sources/programs/pytorch/torchtitan_keys.hpp"
#include "workloads/sources/rules/program_table.hpp"

namespace highwater::program_table {
namespace {

using namespace titan_keys;

/// Of a launch line: the file's own keys stand before those of the line, if it is there.
bool lacks_file(const SettingList& all) {
  return all.find("job.config_file") != nullptr &&
         std::ranges::none_of(all.list(), [](const Setting& setting) {
           return setting.key.starts_with("model.") || setting.key.starts_with("training.");
         });
}

void add_defaults(const SettingList& all, SourceKeys& keys) {
  if (all.find("training.batch_size") == nullptr &&
      all.find("training.local_batch_size") == nullptr) {
    offer_batch({"training.local_batch_size", "8"}, all, keys);
  }
  if (all.find("training.seq_len") == nullptr) {
    offer({"training.seq_len", "2048"}, "seq", "2048", keys);
  }
  if (all.find("activation_checkpoint.mode") == nullptr) {
    read_checkpointing({"activation_checkpoint.mode", "selective"}, all, keys);
  }
}

/// The code between January 2025 and 0.2.2 is that of --torchtitan 0.0 with these differences.
void add_later_code(const SettingList& all, SourceKeys& keys) {
  const bool sets_loop =
      all.find("optimizer.implementation") != nullptr || all.find("optimizer.fused") != nullptr;
  if (!is_of_2024(all) && !sets_loop) {
    offer({"optimizer.implementation", "fused"}, "optimizer-impl", "fused", keys);
  }
  const bool is_ddp = degree_of(all, "data_parallel_replicate_degree") > 1 &&
                      degree_of(all, "data_parallel_shard_degree") == 1;
  if (has_unit_ends(all) && !is_ddp) {
    offer({"(release)", "since July 2025"}, "fsdp-units", "ends", keys);
    const Setting* const policy = find_moved(all, "fsdp_reshard_after_forward");
    if ((policy == nullptr || policy->value == "default") && !has_stages(all)) {
      offer({"(release)", "since July 2025"}, "reshard", "always", keys);
    }
  }
  if (is_ddp && all.find("training.local_batch_size") != nullptr) {
    offer({"(release)", "DDP since June 2025"}, "precision", "amp-bf16", keys);
  }
}

void finish_torchtitan(const SettingList& all, SourceKeys& keys) {
  offer({"(torchtitan)", "TOML"}, "framework", "torchtitan", keys);
  offer({"(torchtitan)", "TOML"}, "torchtitan", "0.0", keys);
  if (lacks_file(all)) {
    keys.add_not_supported("(job.config_file)", all.text("job.config_file").value_or(""),
                           "file not found; pass it with a second --from", "model");
  } else {
    add_defaults(all, keys);
  }
  add_later_code(all, keys);
}

}  // namespace

const Program& torchtitan() {
  static const Program kProgram =
      program_of_facts("torchtitan", {torchtitan_readers()}, finish_torchtitan);
  return kProgram;
}

}  // namespace highwater::program_table
