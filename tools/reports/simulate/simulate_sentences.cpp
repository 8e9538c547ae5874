#include "tools/reports/simulate/simulate_sentences.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/studies/runs/recording_check.hpp"
#include "tools/studies/runs/replay_run.hpp"
#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/site.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// "the memory of a100-80", "a capacity of 40.00 GiB", ...
std::string limit_words(const Simulation& simulation) {
  const DeviceReplay& replay = simulation.replay;
  if (replay.memory_limit || replay.memory_fraction) {
    return fmt::format("a memory limit of {}", to_iec(*simulation.available));
  }
  if (simulation.is_gpu_named && replay.capacity != simulation.available) {
    const Gpu& gpu = simulation.plan.gpu;
    return fmt::format("{} ({}, {})", gpu.name, gpu.description, to_iec(gpu.total_memory));
  }
  return fmt::format("a capacity of {}", to_iec(*simulation.available));
}

std::string failure_place(const Simulation& simulation) {
  const Site& site = simulation.failure_site;
  const std::optional<std::uint64_t>& step = simulation.failure_place.step;
  std::string text = step ? fmt::format("step {}, ", *step) : "";
  text += "phase " + simulation.failure_place.phase;
  text += site.module.empty() ? "" : ", module " + site.module;
  text += site.op.empty() ? "" : ", operator " + site.op;
  text += site.autograd.empty() ? "" : " in " + site.autograd;
  return text;
}

/// 124439808 -> "124,439,808".
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) {
    text.insert(i - 3, ",");
  }
  return text;
}

/// On a GPU that is smaller than what is reserved without a limit, the allocator gives cached
/// memory back before it takes more.
std::string smallest_gpu(const Simulation& simulation, const std::vector<const Gpu*>& gpus) {
  if (gpus.empty()) {
    return "it fits on no known GPU";
  }
  const Gpu& gpu = *gpus.front();
  const bool is_tight =
      simulation.replay.result.peak.reserved > memory_for_allocator(gpu, simulation.plan);
  return fmt::format("the smallest known GPU it fits on is {} ({}){}", gpu.name,
                     to_iec(gpu.total_memory),
                     is_tight ? ", where cached memory has to be given back to make room" : "");
}

std::string need_words(const Simulation& simulation) {
  return simulation.needed ? fmt::format("the allocator needs {} and has {}; ",
                                         to_iec(*simulation.needed), to_iec(*simulation.available))
                           : "";
}

/// " without offload_x, which saves memory (with it: not known),", empty where nothing that was
/// left out could turn the answer around.
std::string undecided_clause(const Simulation& simulation) {
  const std::vector<LeftOutKey> keys = simulation.undecided();
  return keys.empty()
             ? ""
             : fmt::format(" {} (with {}: not known),", without_words(outcome_of(simulation), keys),
                           keys.size() == 1 ? "it" : "them");
}

/// "; in train.yaml: gradient_checkpointing: true", empty where the program cannot say it.
std::string own_words(const Remedy& remedy) {
  std::string text;
  for (const OwnChange& change : remedy.own) {
    text += fmt::format("; in {}: {}", printable(change.place), printable(change.text));
  }
  return text;
}

/// "--checkpoint full: 21.30 GiB, 1.84 GiB to spare (recomputes the forward)".
std::string remedy_words(const Remedy& remedy) {
  std::vector<std::string> costs = remedy.costs;
  if (is_thin(remedy.peak, remedy.available)) {
    costs.emplace_back("a thin margin");
  }
  return fmt::format("{}: {}, {} to spare{}{}", option_line(remedy.options), to_iec(remedy.peak),
                     to_iec(remedy.spare()),
                     costs.empty() ? "" : fmt::format(" ({})", fmt::join(costs, "; ")),
                     own_words(remedy));
}

}  // namespace

std::string share(Bytes part, Bytes whole) {
  return whole == Bytes{} ? "-"
                          : fmt::format("{:.1f} %", 100 * static_cast<double>(part.count()) /
                                                        static_cast<double>(whole.count()));
}

namespace {

std::string verdict_itself(const Simulation& simulation) {
  const Bytes reserved = simulation.replay.result.peak.reserved;
  if (!simulation.available) {
    return fmt::format("reserves {} with unlimited memory", to_iec(reserved));
  }
  if (!simulation.fits()) {
    return fmt::format("DOES NOT FIT{} in {}: {}out of memory at {}", undecided_clause(simulation),
                       limit_words(simulation), need_words(simulation), failure_place(simulation));
  }
  const Bytes spare = *simulation.available - std::min(*simulation.available, reserved);
  return fmt::format("FITS{} in {}: peak reserved {}, {} to spare{}", undecided_clause(simulation),
                     limit_words(simulation), to_iec(reserved), to_iec(spare),
                     is_thin(reserved, *simulation.available)
                         ? fmt::format(", a thin margin ({})", share(spare, *simulation.available))
                         : "");
}

/// What a recording says about the plan that was read from it.
std::string with_recording(std::string verdict, const Simulation& simulation) {
  return simulation.recording ? std::move(verdict) + "; " + recording_clause(*simulation.recording)
                              : std::move(verdict);
}

}  // namespace

std::string verdict(const Simulation& simulation) {
  return with_recording(verdict_itself(simulation), simulation);
}

std::string verdict(const Simulation& simulation, const std::vector<const Gpu*>& gpus) {
  return simulation.available
             ? verdict(simulation)
             : with_recording(verdict_itself(simulation) + "; " + smallest_gpu(simulation, gpus),
                              simulation);
}

std::string failure_text(const Simulation& simulation) {
  if (!simulation.failure || simulation.replay.result.ooms.empty()) {
    return "";
  }
  const OutOfMemory& oom = simulation.replay.result.ooms.front().account;
  const Bytes available = simulation.available.value_or(oom.reserved);
  return fmt::format(
      "out of memory at {}\n  requested {}, needs {} from the device; {} of {} are left\n  "
      "reserved {}, of which allocated {}, free {} (largest free block {})\n",
      failure_place(simulation), to_iec(oom.requested), to_iec(oom.segment_size),
      to_iec(available - std::min(available, oom.reserved)), to_iec(available),
      to_iec(oom.reserved), to_iec(oom.allocated),
      to_iec(oom.reserved - std::min(oom.reserved, oom.allocated)), to_iec(oom.largest_free_block));
}

std::string model_line(const Simulation& simulation) {
  const TrainingPlan& plan = simulation.plan;
  if (is_other(plan.model.config)) {  // of which only the optimizer's parameters are known
    return fmt::format("{} trained parameters ({}, {})\n", grouped(simulation.trainable),
                       printable(plan.model.config.as<OtherConfig>().model_type),
                       printable(plan.model.source));
  }
  const std::string trained = trains_adapters(plan)
                                  ? fmt::format(", {} trained by {}", grouped(simulation.trainable),
                                                plan.peft.empty() ? "LoRA" : "PEFT's adapters")
                                  : "";
  return fmt::format("{} parameters{} ({}, {})\n", grouped(simulation.parameters()), trained,
                     family_name(plan.model), printable(plan.model.source));
}

std::string outside_line(const Simulation& simulation) {
  std::string text = fmt::format("outside the allocator: about {} ({})\n",
                                 to_iec(simulation.outside.context), simulation.outside.source);
  for (const dist::Communicator& each : simulation.outside.communicators) {
    text += fmt::format("  and {} of NCCL for the {} {} ranks (as measured on NVLink)\n",
                        to_iec(each.memory), each.ranks, each.axis);
  }
  if (!simulation.failure) {
    text +=
        fmt::format("  nvidia-smi would show about {} of the GPU in use by this process\n",
                    to_iec(simulation.replay.result.peak.reserved + simulation.outside.total()));
  }
  return text;
}

std::string remedies_failed(const Remedies& remedies) {
  if (const auto& together = remedies.together) {
    return fmt::format(
        "No change of the plan makes it fit, not even all that go together: {}: {} (limit {})",
        option_line(together->options), to_iec(together->peak), to_iec(together->available));
  }
  return remedies.fitting.empty() ? "No option that Highwater knows lowers the memory of this plan."
                                  : "";
}

std::vector<std::string> remedy_lines(const Remedies& remedies) {
  std::vector<std::string> lines;
  for (const Remedy& remedy : remedies.fitting) {
    lines.push_back("fits with " + remedy_words(remedy));
  }
  return lines;
}

std::vector<std::string> wider_lines(const std::vector<Remedy>& wider) {
  std::vector<std::string> lines;
  std::ranges::transform(wider, std::back_inserter(lines), remedy_words);
  return lines;
}

}  // namespace highwater
