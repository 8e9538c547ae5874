#include "tools/reports/sweep_report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/replay_report.hpp"
#include "tools/text/plural.hpp"
#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/parse_text.hpp"

namespace highwater {
namespace {

/// Bytes that `auto` chose, as people read them.
std::string shown_value(const std::string& key, const std::string& value) {
  const bool is_count =
      value.size() > 6 && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
  const auto size = is_count && key == "capacity" ? parse_bytes(value) : std::nullopt;
  return size ? to_iec(*size) : value;
}

Cell outcome_cell(const SweepRun& run) {
  if (run.problem) {
    return "impossible: " + *run.problem;
  }
  const std::uint64_t ooms = run.replay.result.counts.ooms;
  const std::string times = ooms > 1 ? fmt::format(" x{}", ooms) : "";
  return Cell(ooms).shown_as(ooms == 0 ? "" : "out of memory" + times);
}

/// Blank for a plan that cannot be.
template <class Value>
auto if_possible(Value value) {
  return [value](const SweepRun& run) { return run.problem ? Cell() : Cell(value(run)); };
}

auto peak_of_run(Bytes Usage::*member) {
  return if_possible([member](const SweepRun& run) { return run.replay.result.peak.*member; });
}

Cell gain_cell(const SweepRun& run) {
  Cell cell = run.gain;
  cell.shown = percent_text(run.gain);
  cell.exact = fmt::format("{:.6f}", run.gain);
  return cell;
}

Cell fragmentation_cell(const SweepRun& run) {
  const double fragmentation = run.replay.result.fragmentation.peak;
  return Cell(fragmentation).written_as(fmt::format("{:.4f}", fragmentation));
}

std::optional<std::string> phase_of_peak(const SweepRun& run) {
  return run.place ? std::optional(run.place->phase) : std::nullopt;
}

/// Blank in tables, and left out of JSON, where nothing is known.
template <class Value>
auto if_known(Value value) {
  return [value](const SweepRun& run) {
    const auto known = std::invoke(value, run);
    return known ? Cell(*known) : Cell();
  };
}

bool knows_phases(const Sweep& sweep) {
  return sweep.base.place.has_value();
}

/// A column for each key of --set, then what the run came to. JSON has most of it by the keys of
/// `replay`.
Columns<SweepRun> sweep_columns(const Sweep& sweep) {
  using enum Align;
  Columns<SweepRun> columns;
  for (std::size_t i = 0; i < sweep.keys.size(); ++i) {
    columns.push_back({"", sweep.keys[i], left, [i](const SweepRun& run) {
                         const auto& [key, value] = run.set[i];
                         return Cell(value).shown_as(shown_value(key, value));
                       }});
  }
  columns.push_back({"", "peak reserved", right, peak_of_run(&Usage::reserved)});
  if (knows_phases(sweep)) {
    columns.push_back({"peak_reserved_moment.phase", "reached in", left, if_known(phase_of_peak)});
    columns.push_back(
        {"activations_peak_bytes", "most activations", right, if_known(&SweepRun::activations)});
  }
  const Columns<SweepRun> results{
      {"reserved_vs_base", "vs base", right, if_possible(gain_cell)},
      {"", "peak allocated", right, peak_of_run(&Usage::allocated)},
      {"", "fragmentation", right, if_possible(fragmentation_cell)},
      {"", "device calls", right,
       if_possible([](const SweepRun& run) { return run.device_calls(); })},
      {"", "retries", right,
       if_possible([](const SweepRun& run) { return run.replay.result.counts.alloc_retries; })},
      {"", "outcome", left, outcome_cell, "ooms"}};
  columns.insert(columns.end(), results.begin(), results.end());
  return columns;
}

/// Best first. Below the first `top` rows one says how many more there are.
Table sweep_table(const Sweep& sweep, std::size_t top) {
  std::vector<std::reference_wrapper<const SweepRun>> runs(sweep.runs.begin(), sweep.runs.end());
  std::ranges::sort(runs, is_better);
  runs.erase(runs.begin() + static_cast<std::ptrdiff_t>(std::min(top, runs.size())), runs.end());
  Table table =
      tabulate(fmt::format("{}, device {}", sweep.workload.name, sweep.workload.replay.device),
               sweep_columns(sweep), runs);
  if (runs.size() < sweep.counts.all) {
    table.footer.emplace_back(table.heads.size());
    table.footer.back().front() = fmt::format("... {} more", sweep.counts.all - runs.size());
  }
  return table;
}

std::string set_words(const SweepRun& run) {
  std::string text;
  for (const auto& [key, value] : run.set) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  }
  return text;
}

/// "11.3 % less than", "4.0 % more than", or "the same as".
std::string comparison(Bytes value, Bytes base) {
  if (value == base || base == Bytes{0}) {
    return "the same as";
  }
  const double change = static_cast<double>(value.count()) / static_cast<double>(base.count()) - 1;
  return fmt::format("{:.1f} % {} than", 100 * std::abs(change), change < 0 ? "less" : "more");
}

/// Why options that save much can change little: what they act on is not what the peak consists of.
std::string peak_words(const Sweep& sweep, const SweepRun& best) {
  const SweepRun& base = sweep.base;
  if (!best.place || !base.place || !best.activations || !base.activations ||
      (best.place->phase == base.place->phase && best.activations == base.activations)) {
    return "";
  }
  return fmt::format(
      "; the peak is reached in {} (base: {}), with {} of activations at most (base: {})",
      best.place->phase, base.place->phase, to_iec(*best.activations), to_iec(*base.activations));
}

/// The sentence below the table: the best run against the base. A smaller batch always takes less,
/// so the largest that fits is the best.
std::string sweep_conclusion(const Sweep& sweep) {
  const SweepRun& best = sweep.preferred.front();
  const Bytes base = sweep.base.replay.result.peak.reserved;
  if (!best.fits()) {
    return "every combination runs out of memory or is impossible";
  }
  std::string text = fmt::format("{}: {}: {} peak reserved, {} the base's {}",
                                 best.batch() ? "largest batch that fits" : "best", set_words(best),
                                 to_iec(best.replay.result.peak.reserved),
                                 comparison(best.replay.result.peak.reserved, base), to_iec(base));
  if (sweep.base.ran_out()) {
    text += ", which runs out of memory";
  }
  text += peak_words(sweep, best);
  const bool is_better = sweep.base.ran_out() || best.replay.result.peak.reserved < base;
  const std::string conf = is_better ? to_conf(best.replay.settings) : "";
  return text + (conf.empty() ? "" : fmt::format("\nexport PYTORCH_CUDA_ALLOC_CONF={}", conf));
}

/// "6 combinations: 4 fit, 1 out of memory, 1 impossible".
std::string sweep_count(const Sweep& sweep) {
  const SweepCounts& counts = sweep.counts;
  const std::string known =
      counts.ruled_out == 0
          ? ""
          : fmt::format("; {} of them known by a bound, without a replay", counts.ruled_out);
  return fmt::format("{}: {} fit, {} out of memory, {} impossible{}",
                     plural(static_cast<std::int64_t>(counts.all), "combination"), counts.fit(),
                     counts.out_of_memory, counts.impossible, known);
}

/// The keys of a device of `replay`, `set` and what the columns add; `problem` instead of the
/// figures for a plan that cannot be.
boost::json::object run_json(const Columns<SweepRun>& columns, const SweepRun& run) {
  boost::json::object object = run.problem ? boost::json::object() : replay_json(run.replay);
  boost::json::object& set = object["set"].emplace_object();
  for (const auto& [key, value] : run.set) {
    set[valid_utf8(key)] = valid_utf8(value);
  }
  if (run.problem) {
    object["problem"] = valid_utf8(*run.problem);
  }
  for (auto& [key, value] : row_json(columns, run)) {
    object[key] = std::move(value);
  }
  return object;
}

template <class Make>
boost::json::array from_each(const std::vector<Sweep>& sweeps, Make make) {
  boost::json::array list;
  for (const Sweep& sweep : sweeps) {
    make(sweep, list);
  }
  return list;
}

void add_runs(const Sweep& sweep, boost::json::array& list) {
  const Columns<SweepRun> columns = sweep_columns(sweep);
  for (const SweepRun& run : sweep.runs) {
    list.push_back(run_json(columns, run));
  }
}

/// The best run of each device, as an index into the runs of all.
boost::json::array best_runs(const std::vector<Sweep>& sweeps) {
  boost::json::array best;
  std::size_t before = 0;
  for (const Sweep& sweep : sweeps) {
    const auto first = std::ranges::min_element(sweep.runs, is_better);
    best.emplace_back(before + static_cast<std::size_t>(first - sweep.runs.begin()));
    before += sweep.runs.size();
  }
  return best;
}

void add_sweep(const Sweep& sweep, std::size_t top, Report& report) {
  add_first_line(sweep.workload.replay, report);
  report.table(sweep_table(sweep, top));
  report.text(sweep_conclusion(sweep) + "\n");
  add_notes(sweep.workload.replay, report);
  report.line(sweep.workload.trust());
  report.line(sweep_count(sweep));
  report.csv([&] { return sweep_table(sweep, sweep.runs.size()); });
}

}  // namespace

std::string sweep_report(const std::vector<Sweep>& sweeps, OutputFormat format, std::size_t top) {
  Report report(format, "highwater.sweep/1");
  if (sweeps.empty()) {
    report.line("The file holds no device with memory or events.");
  }
  for (const Sweep& sweep : sweeps) {
    add_sweep(sweep, top, report);
  }
  report.value("subject", sweeps.empty() ? "" : sweeps.front().workload.name);
  report.json("bases", [&] {
    return from_each(sweeps, [](const Sweep& sweep, boost::json::array& list) {
      list.push_back(run_json(sweep_columns(sweep), sweep.base));
    });
  });
  report.json("runs", [&] { return from_each(sweeps, add_runs); });
  report.json("best", [&] { return best_runs(sweeps); });
  report.json("trust", [&] {
    return from_each(sweeps, [](const Sweep& sweep, boost::json::array& list) {
      list.emplace_back(valid_utf8(sweep.workload.trust()));
    });
  });
  return report.str();
}

std::string sweep_line(const Sweep& sweep, const SweepRun& run) {
  boost::json::object line{{"schema", "highwater.sweep/1"}};
  for (auto& [key, value] : run_json(sweep_columns(sweep), run)) {
    line[key] = std::move(value);
  }
  return boost::json::serialize(line) + "\n";
}

}  // namespace highwater
