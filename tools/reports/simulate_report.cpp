#include "tools/reports/simulate_report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/reports/comparison_report.hpp"
#include "tools/reports/host_report.hpp"
#include "tools/reports/rank_report.hpp"
#include "tools/reports/replay_report.hpp"
#include "tools/studies/trust_line.hpp"
#include "tools/text/safe_text.hpp"
#include "workloads/plan/model/parameter_count.hpp"
#include "workloads/plan/options/plan_summary.hpp"

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
  const std::optional<std::uint64_t>& step = simulation.failure->step;
  std::string text = step ? fmt::format("step {}, ", *step) : "";
  text += "phase " + simulation.failure_phase;
  text += site.module.empty() ? "" : ", module " + site.module;
  text += site.op.empty() ? "" : ", operator " + site.op;
  text += site.autograd.empty() ? "" : " in " + site.autograd;
  return text;
}

/// Whether `part` is a tenth of the memory that was allocated when it ran out.
bool matters(Bytes part, const Simulation& simulation) {
  return part * 10 >= simulation.peaks.run.peak.allocated;
}

/// What would make room, of the options that act on something large in this run.
std::string remedies(const Simulation& simulation) {
  const TrainingPlan& plan = simulation.plan;
  const CategoryBytes& at_peak = simulation.peaks.run.at_peak;
  const OutOfMemory& oom = simulation.replay.result.ooms.front().account;
  const bool has_optimizer = plan.training && plan.optimizer.kind != OptimizerKind::none;
  std::vector<std::string> list;
  const std::string& phase = simulation.failure_phase;
  const Bytes asked = phase == "init" || phase == "optimizer" ? Bytes{} : oom.requested;
  if (matters(at_peak.of(Category::activation) + at_peak.of(Category::temporary) + asked,
              simulation)) {
    if (plan.batch > 1) {
      list.emplace_back("a smaller --batch (--find-batch) with more --grad-accum");
    }
    if (plan.training && plan.checkpoint.kind != CheckpointKind::full) {
      list.emplace_back("--checkpoint full");
    }
  }
  if (plan.precision == Precision::fp32) {
    list.emplace_back("--precision bf16");
  }
  if (has_optimizer && plan.lora.rank == 0 &&
      matters(at_peak.of(Category::gradient) + at_peak.of(Category::optimizer_state), simulation)) {
    list.emplace_back("--lora 16");
  }
  if (has_optimizer && plan.optimizer.kind != OptimizerKind::adamw_8bit &&
      matters(at_peak.of(Category::optimizer_state), simulation)) {
    list.emplace_back("--optimizer adamw-8bit");
  }
  if (!simulation.replay.settings.expandable_segments &&
      matters(oom.reserved - std::min(oom.reserved, oom.allocated), simulation)) {
    list.emplace_back("--alloc-conf expandable_segments:True");
  }
  list.emplace_back("a GPU with more memory");
  return fmt::format("{}", fmt::join(list, "; "));
}

std::string failure_text(const Simulation& simulation) {
  if (!simulation.failure || simulation.replay.result.ooms.empty()) {
    return "";
  }
  const OutOfMemory& oom = simulation.replay.result.ooms.front().account;
  const Bytes available = simulation.available.value_or(oom.reserved);
  return fmt::format(
      "out of memory at {}\n  asked {}, needs {} from the device; {} are left of {}\n  reserved "
      "{}, "
      "of which allocated {}, free {} (largest free block {})\n  try: {}\n",
      failure_place(simulation), to_iec(oom.requested), to_iec(oom.segment_size),
      to_iec(available - std::min(available, oom.reserved)), to_iec(available),
      to_iec(oom.reserved), to_iec(oom.allocated),
      to_iec(oom.reserved - std::min(oom.reserved, oom.allocated)), to_iec(oom.largest_free_block),
      remedies(simulation));
}

std::string share(Bytes part, Bytes whole) {
  return whole == Bytes{} ? "-"
                          : fmt::format("{:.1f} %", 100 * static_cast<double>(part.count()) /
                                                        static_cast<double>(whole.count()));
}

std::vector<std::string> usage_row(const std::string& name, const Usage& usage) {
  return {name, to_iec(usage.requested), to_iec(usage.allocated), to_iec(usage.active),
          to_iec(usage.reserved)};
}

TextTable peaks_table(const Simulation& simulation) {
  TextTable table{"Peak memory",
                  {"", "requested", "allocated", "active", "reserved"},
                  {},
                  {false, true, true, true, true}};
  const auto& steps = simulation.peaks.steps;
  if (!steps.empty()) {
    const std::string incomplete = steps.front().complete ? "" : " (not completed)";
    table.rows.push_back(usage_row("first step" + incomplete, steps.front().peak));
  }
  if (const auto steady = simulation.steady_peak()) {
    table.rows.push_back(usage_row("later steps", *steady));
  }
  table.rows.push_back(usage_row("whole run", simulation.replay.result.peak));
  return table;
}

TextTable breakdown_table(const Simulation& simulation) {
  const StretchPeak& run = simulation.peaks.run;
  const std::optional<std::uint64_t>& step = simulation.at_peak.step;
  const std::string when =
      (step ? fmt::format("step {}, ", *step) : std::string()) + simulation.peak_phase;
  TextTable table{"Allocated at the peak (" + when + ")",
                  {"category", "memory", "share"},
                  {},
                  {false, true, true}};
  auto parts = parts_of(run.at_peak);
  std::ranges::stable_sort(parts, std::ranges::greater{}, &std::pair<std::string, Bytes>::second);
  for (const auto& [name, bytes] : parts) {
    if (bytes != Bytes{}) {
      std::string words = name;
      std::ranges::replace(words, '_', ' ');
      table.rows.push_back({words, to_iec(bytes), share(bytes, run.peak.allocated)});
    }
  }
  table.rows.push_back(
      {"total", to_iec(run.at_peak.total()), share(run.at_peak.total(), run.peak.allocated)});
  return table;
}

Usage higher(const Usage& a, const Usage& b) {
  return {std::max(a.requested, b.requested), std::max(a.allocated, b.allocated),
          std::max(a.active, b.active), std::max(a.reserved, b.reserved)};
}

/// The highest of each phase, in the first step and in all later ones.
struct PhaseRow {
  std::string phase;
  std::optional<Usage> before;  ///< outside of steps
  std::optional<Usage> first;
  std::optional<Usage> later;
};

std::vector<PhaseRow> phase_rows(const Simulation& simulation) {
  std::vector<PhaseRow> rows;
  for (const PhasePeak& phase : simulation.peaks.phases) {
    auto row = std::ranges::find(rows, phase.phase, &PhaseRow::phase);
    if (row == rows.end()) {
      rows.push_back({phase.phase, {}, {}, {}});
      row = rows.end() - 1;
    }
    std::optional<Usage>& cell = !phase.step        ? row->before
                                 : *phase.step == 0 ? row->first
                                                    : row->later;
    cell = higher(cell.value_or(Usage{}), phase.peak);
  }
  return rows;
}

TextTable phases_table(const Simulation& simulation) {
  TextTable table{"Peak by phase",
                  {"phase", "first: allocated", "reserved", "later: allocated", "reserved"},
                  {},
                  {false, true, true, true, true}};
  for (const PhaseRow& row : phase_rows(simulation)) {
    const std::optional<Usage>& first = row.before ? row.before : row.first;
    const auto cell = [](const std::optional<Usage>& usage, Bytes Usage::*member) {
      return usage ? to_iec((*usage).*member) : std::string("-");
    };
    table.rows.push_back({row.phase, cell(first, &Usage::allocated), cell(first, &Usage::reserved),
                          cell(row.later, &Usage::allocated), cell(row.later, &Usage::reserved)});
  }
  return table;
}

TextTable holders_table(const Simulation& simulation) {
  TextTable table{"Largest holders at the peak",
                  {"memory", "blocks", "operator", "module"},
                  {},
                  {true, true, false, false}};
  for (std::size_t i = 0; i < std::min(kHoldersShown, simulation.holders.size()); ++i) {
    const SiteHolder& holder = simulation.holders[i];
    const Site& site = holder.origin;
    table.rows.push_back(
        {to_iec(holder.held), std::to_string(holder.blocks),
         site.autograd.empty() ? site.op : fmt::format("{} in {}", site.op, site.autograd),
         site.module});
  }
  if (simulation.holders.size() > kHoldersShown) {
    Bytes rest;
    std::uint64_t blocks = 0;
    for (std::size_t i = kHoldersShown; i < simulation.holders.size(); ++i) {
      rest += simulation.holders[i].held;
      blocks += simulation.holders[i].blocks;
    }
    table.rows.push_back({to_iec(rest), std::to_string(blocks),
                          fmt::format("{} others", simulation.holders.size() - kHoldersShown), ""});
  }
  return table;
}

/// 124439808 -> "124,439,808".
std::string grouped(std::int64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t i = text.size(); i > 3; i -= 3) {
    text.insert(i - 3, ",");
  }
  return text;
}

std::string model_line(const Simulation& simulation) {
  const TrainingPlan& plan = simulation.plan;
  const std::string trained =
      plan.lora.rank > 0 ? fmt::format(", {} trained by LoRA", grouped(simulation.trainable)) : "";
  return fmt::format("{} parameters{} ({}, {})\n",
                     grouped(parameter_count(plan.model.config).trainable()), trained,
                     family_name(simulation.plan.model), printable(simulation.plan.model.source));
}

std::vector<TextTable> tables_of(const SimulationReport& report) {
  const Simulation& simulation = report.simulation;
  std::vector<TextTable> tables{rank_table(report.ranks),    peaks_table(simulation),
                                breakdown_table(simulation), phases_table(simulation),
                                holders_table(simulation),   comparison_table(report.estimates)};
  if (TextTable host = host_table(simulation.host); !host.rows.empty()) {
    tables.insert(tables.begin() + 2, std::move(host));  // behind the peaks of GPU memory
  }
  for (const ComparedEstimate& compared : report.estimates.compared) {
    if (std::ranges::find(report.reconciled, compared.outcome.formula) != report.reconciled.end()) {
      tables.push_back(reconciliation_table(compared));
    }
  }
  return tables;
}

/// Which of the forms asked for cannot be compared, and why.
std::string missing_bridges(const SimulationReport& report) {
  std::string text;
  for (const FormulaOutcome& outcome : report.estimates.refused) {
    if (std::ranges::find(report.reconciled, outcome.formula) != report.reconciled.end()) {
      text += fmt::format("{} does not apply: {}\n", outcome.formula->name, outcome.refusal);
    }
  }
  return text;
}

std::string outside_line(const Simulation& simulation) {
  std::string text = fmt::format("outside the allocator: about {} ({})\n",
                                 to_iec(simulation.outside.context), simulation.outside.source);
  for (const dist::Communicator& each : simulation.outside.communicators) {
    text += fmt::format("  and {} of NCCL for the {} {} ranks (as measured on NVLink)\n",
                        to_iec(each.memory), each.ranks, each.axis);
  }
  return text;
}

}  // namespace

/// Category and bytes, rounding last; all parts, also those that are 0.
std::vector<std::pair<std::string, Bytes>> parts_of(const CategoryBytes& bytes) {
  std::vector<std::pair<std::string, Bytes>> parts;
  for (std::size_t i = 0; i < kCategoryCount; ++i) {
    const auto category = static_cast<Category>(i);
    parts.emplace_back(to_string(category), bytes.of(category));
  }
  parts.emplace_back("rounding", bytes.rounding);
  return parts;
}

std::string verdict(const Simulation& simulation) {
  const Bytes reserved = simulation.replay.result.peak.reserved;
  if (!simulation.available) {
    const auto gpus = gpus_that_hold(simulation);
    return fmt::format("reserves {} where memory is unlimited; {}", to_iec(reserved),
                       gpus.empty()
                           ? "no known GPU holds it"
                           : fmt::format("the smallest known GPU that it runs on is {} ({})",
                                         gpus.front()->name, to_iec(gpus.front()->total_memory)));
  }
  if (!simulation.fits()) {
    return fmt::format("DOES NOT FIT in {}: out of memory at {}", limit_words(simulation),
                       failure_place(simulation));
  }
  return fmt::format("FITS in {}: peak reserved {}, {} to spare", limit_words(simulation),
                     to_iec(reserved),
                     to_iec(*simulation.available - std::min(*simulation.available, reserved)));
}

std::string simulation_text(const SimulationReport& report, OutputFormat format) {
  const Simulation& simulation = report.simulation;
  const bool is_markdown = format == OutputFormat::markdown;
  const std::string gap = is_markdown ? "\n\n" : "\n";
  std::string text = printable(verdict(simulation)) + gap;
  if (report.batches) {
    text += "largest batch that fits: " + describe(*report.batches) +
            "; batches in between were not all tried, and memory need not grow evenly" + gap;
  }
  text += printable(plan_summary(simulation.plan)) + gap + model_line(simulation) + "\n";
  text += report.ranks.ranks > 1 ? rank_sentence(report.ranks) + "\n" : "";
  for (const TextTable& table : tables_of(report)) {
    if (!table.rows.empty()) {
      text += (is_markdown ? format_markdown(table) : format_aligned(table)) + "\n";
    }
  }
  text += outside_line(simulation) + (is_markdown ? "\n" : "");
  text += missing_bridges(report) + failure_text(simulation);
  for (const std::string& note : replay_notes(simulation.replay)) {
    text += "note: " + printable(note) + "\n";
  }
  return text + printable(simulation_trust_line(simulation)) + "\n";
}

}  // namespace highwater
