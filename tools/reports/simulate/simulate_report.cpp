#include "tools/reports/simulate/simulate_report.hpp"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/engine/engine.hpp"
#include "tools/reports/diff/diff_report.hpp"
#include "tools/reports/estimates/comparison_report.hpp"
#include "tools/reports/host_report.hpp"
#include "tools/reports/left_out.hpp"
#include "tools/reports/rank_report.hpp"
#include "tools/reports/replay_report.hpp"
#include "tools/reports/simulate/recording_report.hpp"
#include "tools/reports/simulate/simulate_sentences.hpp"
#include "tools/reports/simulate/simulate_tables.hpp"
#include "tools/studies/runs/trust_line.hpp"
#include "tools/text/report.hpp"

namespace highwater {
namespace {

void add_tables(const SimulationReport& simulated, Report& report) {
  const Simulation& simulation = simulated.simulation;
  report.table(rank_table(simulated.ranks));
  report.table(imbalance_table(simulated.ranks));
  report.table(peaks_table(simulation));
  report.table(host_table(simulation.host.training));
  report.table(node_host_table(node_host_memory(simulation)));
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

void add_remedies(const SimulationReport& simulated, Report& report) {
  if (simulated.remedies) {
    if (const std::string failed = remedies_failed(*simulated.remedies); !failed.empty()) {
      report.paragraph(failed);
    }
    report.items("Ways to make it fit (each simulated; cheapest first)",
                 remedy_lines(*simulated.remedies));
    report.text("\n");
  } else if (!simulated.wider.empty()) {
    report.items("Ways to gain headroom (each simulated; cheapest first)",
                 wider_lines(simulated.wider));
    report.text("\n");
  }
}

/// Where the keys of a file date it, its defaults are those of its time.
void add_releases(const SimulationReport& simulated, Report& report) {
  for (const std::string& read_as : simulated.simulation.releases) {
    report.line(read_as);
  }
  if (simulated.earlier) {
    report.line(fmt::format("with {}: {}", simulated.earlier->releases,
                            verdict(simulated.earlier->simulation)));
  }
}

/// "--keep-logits false"
std::string spelled_options(const Spelling& spelling) {
  const std::string first = fmt::format("--{} {}", spelling.option, spelling.word);
  return spelling.also_option.empty()
             ? first
             : fmt::format("{} --{} {}", first, spelling.also_option, spelling.also_word);
}

std::string spelling_line(const SpelledRun& run) {
  const std::string_view fits = !run.fits ? "" : *run.fits ? ", fits" : ", does not fit";
  return fmt::format("if the script says {}: peak reserved {}, allocated {}{} ({})",
                     run.spelling.code, to_iec(run.peak.reserved), to_iec(run.peak.allocated), fits,
                     spelled_options(run.spelling));
}

std::string late_line(const LateRun& run) {
  const std::string_view fits = !run.fits ? "" : *run.fits ? ", fits" : ", does not fit";
  return fmt::format(
      "if the GPU does not keep up with the host: peak reserved {}, allocated {}{} (--event-lag "
      "{}; "
      "freed blocks that other streams use wait for them)",
      to_iec(run.peak.reserved), to_iec(run.peak.allocated), fits, run.event_lag);
}

void add_answer(const SimulationReport& simulated, Report& report) {
  const Simulation& simulation = simulated.simulation;
  report.line(verdict(simulation, simulated.gpus));
  add_private_pools(simulation.replay.result, report);
  if (!simulated.assumed.empty()) {
    report.line(simulated.assumed);
  }
  if (const std::string left_out = left_out_sentence(simulation.left_out); !left_out.empty()) {
    report.line(left_out);
  }
  add_releases(simulated, report);
  for (const SpelledRun& run : simulated.spellings) {
    report.line(spelling_line(run));
  }
  if (simulated.late) {
    report.line(late_line(*simulated.late));
  }
  report.paragraph();
  if (simulation.recording && !simulation.recording->is_explained()) {
    add_unexplained(*simulation.recording, report);
  }
  if (simulated.batches) {
    report.paragraph("largest batch that fits: " + describe(*simulated.batches));
  }
  add_remedies(simulated, report);
  report.paragraph(run_summary(simulation.plan));
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
  add_notes(simulation.replay, report);
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
