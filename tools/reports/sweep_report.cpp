#include "tools/reports/sweep_report.hpp"

#include <algorithm>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/reports/replay_report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

std::string bytes_cell(Bytes bytes, bool exact) {
  return exact ? fmt::format("{}", bytes.count()) : to_iec(bytes);
}

std::string outcome(const SweepRun& run, bool exact) {
  if (run.problem) {
    return "impossible: " + *run.problem;
  }
  const std::uint64_t ooms = run.replay.result.counts.ooms;
  if (exact) {
    return fmt::format("{}", ooms);
  }
  return ooms == 0 ? "" : fmt::format("out of memory{}", ooms > 1 ? fmt::format(" x{}", ooms) : "");
}

/// Bytes that `auto` chose, as people read them.
std::string shown_value(const std::string& key, const std::string& value) {
  const bool is_count =
      value.size() > 6 && std::ranges::all_of(value, [](char c) { return c >= '0' && c <= '9'; });
  const auto size = is_count && key == "capacity" ? parse_bytes(value) : std::nullopt;
  return size ? to_iec(*size) : value;
}

std::vector<std::string> row(const SweepRun& run, bool exact) {
  std::vector<std::string> cells;
  for (const auto& [key, value] : run.set) {
    cells.push_back(exact ? value : shown_value(key, value));
  }
  if (run.problem) {
    cells.resize(cells.size() + 6);
    cells.push_back(outcome(run, exact));
    return cells;
  }
  const ReplayResult& result = run.replay.result;
  cells.push_back(bytes_cell(result.peak.reserved, exact));
  cells.push_back(exact ? fmt::format("{:.6f}", run.gain) : percent_text(run.gain));
  cells.push_back(bytes_cell(result.peak.allocated, exact));
  cells.push_back(fmt::format("{:.4f}", result.fragmentation.peak));
  cells.push_back(fmt::format("{}", run.device_calls()));
  cells.push_back(fmt::format("{}", result.counts.alloc_retries));
  cells.push_back(outcome(run, exact));
  return cells;
}

std::string words(const SweepRun& run) {
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

}  // namespace

boost::json::object sweep_run_json(const SweepRun& run) {
  boost::json::object set;
  for (const auto& [key, value] : run.set) {
    set[valid_utf8(key)] = valid_utf8(value);
  }
  if (run.problem) {
    return {{"set", std::move(set)}, {"problem", valid_utf8(*run.problem)}};
  }
  boost::json::object object = replay_json(run.replay);
  object["set"] = std::move(set);
  object["reserved_vs_base"] = run.gain;
  return object;
}

boost::json::object sweep_json(const std::vector<Sweep>& sweeps) {
  boost::json::array bases;
  boost::json::array runs;
  boost::json::array best;
  boost::json::array trust;
  for (const Sweep& sweep : sweeps) {
    bases.push_back(sweep_run_json(sweep.base));
    best.emplace_back(runs.size() + sweep.ranking().front());
    for (const SweepRun& run : sweep.runs) {
      runs.push_back(sweep_run_json(run));
    }
    trust.emplace_back(valid_utf8(sweep.workload.trust()));
  }
  return {{"schema", "highwater.sweep/1"},
          {"subject", sweeps.empty() ? "" : valid_utf8(sweeps.front().workload.name)},
          {"bases", std::move(bases)},
          {"runs", std::move(runs)},
          {"best", std::move(best)},
          {"trust", std::move(trust)}};
}

TextTable sweep_table(const Sweep& sweep, bool exact, std::size_t top) {
  TextTable table;
  table.title = fmt::format("{}, device {}", sweep.workload.name, sweep.workload.replay.device);
  for (const auto& [key, value] : sweep.runs.front().set) {
    table.columns.push_back(key);
  }
  const std::size_t keys = table.columns.size();
  table.columns.insert(table.columns.end(),
                       {"peak reserved", "vs base", "peak allocated", "fragmentation",
                        "device calls", "retries", exact ? "ooms" : "outcome"});
  table.right_aligned.assign(table.columns.size(), true);
  std::fill_n(table.right_aligned.begin(), keys, false);
  table.right_aligned.back() = false;
  const std::vector<std::size_t> order = sweep.ranking();
  const std::size_t shown = std::min(top, order.size());
  for (std::size_t i = 0; i < shown; ++i) {
    table.rows.push_back(row(sweep.runs[order[i]], exact));
  }
  if (shown < order.size()) {
    table.rows.emplace_back(table.columns.size());
    table.rows.back().front() = fmt::format("... {} more", order.size() - shown);
  }
  return table;
}

std::string sweep_conclusion(const Sweep& sweep) {
  const SweepRun& best = sweep.runs[sweep.ranking().front()];
  const Bytes base = sweep.base.replay.result.peak.reserved;
  if (best.problem || best.ran_out()) {
    return "every combination runs out of memory";
  }
  std::string text = fmt::format("best: {}: {} peak reserved, {} the base's {}", words(best),
                                 to_iec(best.replay.result.peak.reserved),
                                 comparison(best.replay.result.peak.reserved, base), to_iec(base));
  if (sweep.base.ran_out()) {
    text += ", which runs out of memory";
  }
  const bool is_better = sweep.base.ran_out() || best.replay.result.peak.reserved < base;
  const std::string conf = is_better ? to_conf(best.replay.settings) : "";
  return text + (conf.empty() ? "" : fmt::format("\nexport PYTORCH_CUDA_ALLOC_CONF={}", conf));
}

}  // namespace highwater
