#include "tools/reports/simulate_report.hpp"

#include <algorithm>
#include <span>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/engine/engine.hpp"
#include "tools/reports/comparison_report.hpp"
#include "tools/reports/diff/diff_report.hpp"
#include "tools/reports/host_report.hpp"
#include "tools/reports/rank_report.hpp"
#include "tools/reports/replay_report.hpp"
#include "tools/studies/trust_line.hpp"
#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"
#include "workloads/plan/model/other_model.hpp"
#include "workloads/plan/model/parameter_count.hpp"

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

std::string share(Bytes part, Bytes whole) {
  return whole == Bytes{} ? "-"
                          : fmt::format("{:.1f} %", 100 * static_cast<double>(part.count()) /
                                                        static_cast<double>(whole.count()));
}

/// Peaks under a name.
struct NamedPeak {
  std::string name;
  Usage peak;
};

std::vector<NamedPeak> peak_rows(const Simulation& simulation) {
  std::vector<NamedPeak> rows;
  const auto& steps = simulation.peaks.steps;
  if (!steps.empty()) {
    const std::string incomplete = steps.front().complete ? "" : " (incomplete)";
    rows.push_back({"first step" + incomplete, steps.front().peak});
  }
  if (const auto steady = simulation.steady_peak()) {
    rows.push_back({"later steps", *steady});
  }
  rows.push_back({"whole run", simulation.replay.result.peak});
  return rows;
}

Table peaks_table(const Simulation& simulation) {
  using enum Align;
  using Row = NamedPeak;
  static const Columns<Row> kColumns{
      {"", "", left, &Row::name},
      {"", "requested", right, [](const Row& row) { return row.peak.requested; }},
      {"", "allocated", right, [](const Row& row) { return row.peak.allocated; }},
      {"", "active", right, [](const Row& row) { return row.peak.active; }},
      {"", "reserved", right, [](const Row& row) { return row.peak.reserved; }}};
  return tabulate("Peak memory", kColumns, peak_rows(simulation));
}

std::string spoken_category(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

Table breakdown_table(const Simulation& simulation) {
  using enum Align;
  using CategoryPart = std::pair<std::string, Bytes>;
  const StretchPeak& run = simulation.peaks.run;
  const std::optional<std::uint64_t>& step = simulation.peak_place.step;
  const std::string when =
      (step ? fmt::format("step {}, ", *step) : std::string()) + simulation.peak_place.phase;
  const Columns<CategoryPart> columns{
      {"", "category", left, [](const CategoryPart& part) { return spoken_category(part.first); }},
      {"", "memory", right, &CategoryPart::second},
      {"", "share", right,
       [&](const CategoryPart& part) { return share(part.second, run.peak.allocated); }}};
  auto parts = parts_of(run.at_peak);
  std::erase_if(parts, [](const CategoryPart& part) { return part.second == Bytes{}; });
  std::ranges::stable_sort(parts, std::ranges::greater{}, &CategoryPart::second);
  Table table = tabulate("Allocated at the peak (" + when + ")", columns, parts);
  const Bytes total = run.at_peak.total();
  table.footer.push_back({"total", to_iec(total), share(total, run.peak.allocated)});
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

/// The first step; what comes before it has no step.
auto in_first(Bytes Usage::*member) {
  return [member](const PhaseRow& row) {
    const std::optional<Usage>& usage = row.before ? row.before : row.first;
    return usage ? std::optional((*usage).*member) : std::nullopt;
  };
}

auto in_later(Bytes Usage::*member) {
  return [member](const PhaseRow& row) {
    return row.later ? std::optional((*row.later).*member) : std::nullopt;
  };
}

Table phases_table(const Simulation& simulation) {
  using enum Align;
  static const Columns<PhaseRow> kColumns{
      {"", "phase", left, &PhaseRow::phase},
      {"", "first: allocated", right, in_first(&Usage::allocated)},
      {"", "reserved", right, in_first(&Usage::reserved)},
      {"", "later: allocated", right, in_later(&Usage::allocated)},
      {"", "reserved", right, in_later(&Usage::reserved)}};
  return tabulate("Peak by phase", kColumns, phase_rows(simulation));
}

std::string operator_text(const SiteHolder& holder) {
  const Site& site = holder.origin;
  return site.autograd.empty() ? site.op : fmt::format("{} in {}", site.op, site.autograd);
}

Table holders_table(const Simulation& simulation) {
  using enum Align;
  static const Columns<SiteHolder> kColumns{
      {"", "memory", right, &SiteHolder::held},
      {"", "blocks", right, &SiteHolder::blocks},
      {"", "operator", left, operator_text},
      {"", "module", left, [](const SiteHolder& holder) { return holder.origin.module; }}};
  const std::span<const SiteHolder> holders = simulation.holders;
  const std::size_t listed = std::min(kHoldersShown, holders.size());
  Table table = tabulate("Largest holders at the peak", kColumns, holders.first(listed));
  if (listed < holders.size()) {
    Bytes rest;
    std::uint64_t blocks = 0;
    for (const SiteHolder& holder : holders.subspan(listed)) {
      rest += holder.held;
      blocks += holder.blocks;
    }
    table.footer.push_back({to_iec(rest), std::to_string(blocks),
                            fmt::format("{} others", holders.size() - listed), ""});
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
  if (is_other(plan.model.config)) {  // of which only the optimizer's parameters are known
    return fmt::format("{} trained parameters ({}, {})\n", grouped(simulation.trainable),
                       printable(plan.model.config.as<OtherConfig>().model_type),
                       printable(plan.model.source));
  }
  const std::string trained =
      plan.lora.rank > 0 ? fmt::format(", {} trained by LoRA", grouped(simulation.trainable)) : "";
  return fmt::format("{} parameters{} ({}, {})\n", grouped(simulation.parameters()), trained,
                     family_name(plan.model), printable(plan.model.source));
}

void add_tables(const SimulationReport& simulated, Report& report) {
  const Simulation& simulation = simulated.simulation;
  report.table(rank_table(simulated.ranks));
  report.table(peaks_table(simulation));
  report.table(host_table(simulation.host));
  report.table(breakdown_table(simulation));
  report.table(phases_table(simulation));
  report.table(holders_table(simulation));
  if (simulated.shows_estimates) {
    report.table(comparison_table(simulated.estimates));
  }
  for (const ComparedEstimate& compared : simulated.estimates.compared) {
    if (std::ranges::find(simulated.reconciled, compared.outcome.formula) !=
        simulated.reconciled.end()) {
      report.table(reconciliation_table(compared));
    }
  }
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

std::string need_words(const Simulation& simulation) {
  return simulation.needed ? fmt::format("the allocator needs {} and has {}; ",
                                         to_iec(*simulation.needed), to_iec(*simulation.available))
                           : "";
}

/// "--checkpoint full: 21.30 GiB, 1.84 GiB to spare (recomputes the forward)".
std::string remedy_words(const Remedy& remedy) {
  std::vector<std::string> costs = remedy.costs;
  if (is_thin(remedy.peak, remedy.available)) {
    costs.emplace_back("a thin margin");
  }
  return fmt::format("{}: {}, {} to spare{}", option_line(remedy.options), to_iec(remedy.peak),
                     to_iec(remedy.spare()),
                     costs.empty() ? "" : fmt::format(" ({})", fmt::join(costs, "; ")));
}

/// Why the list below it has no change of the plan; empty if it has one.
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

namespace {

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

}  // namespace

std::string verdict(const Simulation& simulation, const std::vector<const Gpu*>& gpus) {
  const Bytes reserved = simulation.replay.result.peak.reserved;
  if (!simulation.available) {
    return fmt::format("reserves {} with unlimited memory; {}", to_iec(reserved),
                       smallest_gpu(simulation, gpus));
  }
  if (!simulation.fits()) {
    return fmt::format("DOES NOT FIT in {}: {}out of memory at {}", limit_words(simulation),
                       need_words(simulation), failure_place(simulation));
  }
  const Bytes spare = *simulation.available - std::min(*simulation.available, reserved);
  return fmt::format("FITS in {}: peak reserved {}, {} to spare{}", limit_words(simulation),
                     to_iec(reserved), to_iec(spare),
                     is_thin(reserved, *simulation.available)
                         ? fmt::format(", a thin margin ({})", share(spare, *simulation.available))
                         : "");
}

namespace {

/// One line, and in Markdown a paragraph.
void add_paragraph(const std::string& text, Report& report) {
  report.line(text);
  report.paragraph();
}

void add_remedies(const SimulationReport& simulated, Report& report) {
  if (simulated.remedies) {
    if (const std::string failed = remedies_failed(*simulated.remedies); !failed.empty()) {
      add_paragraph(failed, report);
    }
    report.items("What would make it fit, each simulated, the cheapest first",
                 remedy_lines(*simulated.remedies));
    report.text("\n");
  } else if (!simulated.wider.empty()) {
    report.items("What would widen the margin, each simulated, the cheapest first",
                 wider_lines(simulated.wider));
    report.text("\n");
  }
}

void add_answer(const SimulationReport& simulated, Report& report) {
  const Simulation& simulation = simulated.simulation;
  add_paragraph(verdict(simulation, simulated.gpus), report);
  if (simulated.batches) {
    add_paragraph("largest batch that fits: " + describe(*simulated.batches), report);
  }
  add_remedies(simulated, report);
  add_paragraph(run_summary(simulation.plan), report);
  report.text(model_line(simulation) + "\n");
  report.text(simulated.ranks.ranks > 1 ? rank_sentence(simulated.ranks) + "\n" : "");
}

constexpr std::size_t kHunksOfEngines = 1;

DiffInputs engine_inputs(const EngineComparison& engines) {
  return {.first_name = "this program's model",
          .second_name = "PyTorch",
          .first = &engines.model,
          .second = &engines.torch,
          .notes = {}};
}

/// Where both engines make the same requests, and the first difference where they do not.
std::string engines_text(const EngineComparison& engines) {
  const DiffInputs inputs = engine_inputs(engines);
  return "The model (-) against PyTorch (+)\n" +
         requests_text(engines.diff, inputs, {.max_hunks = kHunksOfEngines});
}

boost::json::object engines_json(const EngineComparison& engines) {
  boost::json::object object;
  add_requests_json(engines.diff, engine_inputs(engines), {.max_hunks = kHunksOfEngines}, object);
  return object;
}

void add_closing(const SimulationReport& simulated, Report& report) {
  const Simulation& simulation = simulated.simulation;
  report.text(outside_line(simulation));
  report.paragraph();
  report.text(missing_bridges(simulated) + failure_text(simulation));
  for (const std::string& note : replay_notes(simulation.replay)) {
    report.line("note: " + note);
  }
  report.line(simulation_trust_line(simulation));
}

}  // namespace

std::string simulation_report(const SimulationReport& simulated, OutputFormat format) {
  if (format == OutputFormat::json) {
    boost::json::object root = simulation_json(simulated);
    if (simulated.engines) {
      root["engines"] = engines_json(*simulated.engines);
    }
    return boost::json::serialize(root) + "\n";
  }
  Report report(format, "");
  add_answer(simulated, report);
  add_tables(simulated, report);
  if (simulated.engines) {
    report.paragraph();
    report.text(engines_text(*simulated.engines));
    report.paragraph();
  }
  add_closing(simulated, report);
  report.csv([&] { return line_table(simulation_metrics(simulated)); });
  return report.str();
}

}  // namespace highwater
