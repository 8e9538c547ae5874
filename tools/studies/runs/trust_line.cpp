#include "tools/studies/runs/trust_line.hpp"

#include <fmt/format.h>

#include "allocator/settings/settings_describe.hpp"
#include "tools/engine/engine.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/release.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

std::string ratio(std::uint64_t matched, std::uint64_t compared) {
  return fmt::format("{} of {}", matched, compared);
}

std::string later_than_known(std::string_view library, std::string_view release,
                             std::string_view newest) {
  return fmt::format("; {} {} is later than any release known here and is taken as {}", library,
                     release, newest);
}

std::string profiled_words(const ProfiledRun& run) {
  std::string words = fmt::format(
      "; read from a profiler's trace, which shows whole blocks, but no streams, "
      "settings, segments or failures; its own peaks: allocated {}, reserved {}",
      to_iec(run.peak_allocated), to_iec(run.peak_reserved));
  if (run.older.count() != 0) {
    words +=
        fmt::format("; {} that were allocated before it stand for one block", to_iec(run.older));
  }
  return words;
}

/// "; edited: empty_cache:step, drop_step:3"
std::string edited_words(const EditedReplay& edited) {
  std::string words;
  for (const EditAnswer& answer : edited.edits) {
    words += (words.empty() ? "; edited: " : ", ") + printable(answer.edit);
  }
  return words;
}

}  // namespace

std::string trust_line(const DeviceReplay& replay) {
  std::string line =
      fmt::format("trust: PyTorch {} model ({})", replay.version->name, replay.version->basis);
  if (replay.later_torch) {
    line += later_than_known("PyTorch", *replay.later_torch, kNewestTorch);
  }
  if (replay.torch_detected) {
    line += fmt::format("; file written by {}", *replay.torch_detected);
  }
  const std::string conf = to_conf(replay.settings);
  line += fmt::format("; settings {}", conf.empty() ? "default" : "'" + conf + "'");
  line += fmt::format("; {} events read, {} dropped", replay.events_read, replay.events_dropped);
  line +=
      replay.truncated ? "; history truncated at the start (earlier state rebuilt)" : "; complete";
  if (replay.edited) {
    line += edited_words(*replay.edited);
  }
  if (replay.profiled) {
    line += profiled_words(*replay.profiled);
  }
  if (replay.fidelity) {
    const Fidelity& f = *replay.fidelity;
    line += fmt::format("; fidelity: {} addresses, {} segment events, {} final segments",
                        ratio(f.alloc_addresses_matched, f.alloc_addresses_compared),
                        ratio(f.segment_events_matched, f.segment_events_recorded),
                        ratio(f.final_segments_matched, f.final_segments_compared));
  }
  return line;
}

std::string simulation_trust_line(const Simulation& simulation) {
  const Versions& versions = simulation.plan.versions;
  std::string line =
      fmt::format("{}; requests {}", trust_line(simulation.replay), how_made(simulation.plan));
  if (release_of(versions.transformers) > release_of(kNewestTransformers)) {
    line += later_than_known("transformers", versions.transformers, kNewestTransformers);
  }
  if (has_own_targets(simulation.plan) && !simulation.plan.target_seq) {
    line += "; labels are as long as the inputs (--target-seq)";
  }
  return line;
}

}  // namespace highwater
