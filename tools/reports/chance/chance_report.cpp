#include "tools/reports/chance/chance_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/studies/runs/simulate_run.hpp"
#include "tools/text/plural.hpp"
#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

constexpr std::size_t kBarWidth = 40;

Bytes rounded(double bytes) {
  return Bytes{static_cast<std::uint64_t>(std::llround(std::max(bytes, 0.0)))};
}

/// "+1.20 GiB", "-12.00 MiB".
std::string signed_iec(double bytes) {
  return (bytes < 0 ? "-" : "+") + to_iec(rounded(std::abs(bytes)));
}

std::string share_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

/// "12.0 % (9.1 % to 15.6 %)".
std::string chance_text(const Chance& chance) {
  return fmt::format("{} ({} to {})", share_text(chance.share), share_text(chance.interval.low),
                     share_text(chance.interval.high));
}

std::string set_text(const ChanceCase& row) {
  std::string text;
  for (const auto& [key, value] : row.set) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", key, value);
  }
  return text.empty() ? "as asked" : text;
}

const Quantile& quantile_of(const Spread95& spread, double share) {
  return *std::ranges::find(spread.quantiles, share, &Quantile::share);
}

boost::json::object chance_json(const Chance& chance) {
  return {{"runs", chance.runs},
          {"share", chance.share},
          {"low", chance.interval.low},
          {"high", chance.interval.high}};
}

const Columns<Quantile>& quantile_columns() {
  using enum Align;
  static const Columns<Quantile> kColumns{
      {"share", "", right, &Quantile::share},
      {"", "runs below", right, [](const Quantile& q) { return percent_cell(q.share, 0); }},
      {"bytes", "peak reserved", right, &Quantile::value},
      {"low_bytes", "at least", right, &Quantile::low},
      {"high_bytes", "at most", right, &Quantile::high}};
  return kColumns;
}

boost::json::object spread95_json(const Spread95& spread) {
  return {{"mean_bytes", spread.mean},
          {"mean_low_bytes", spread.interval.low},
          {"mean_high_bytes", spread.interval.high},
          {"lowest_bytes", spread.lowest.count()},
          {"highest_bytes", spread.highest.count()},
          {"quantiles", rows_json(tabulate("", quantile_columns(), spread.quantiles))}};
}

std::string_view verdict_word(DriftVerdict verdict) {
  static constexpr std::array<std::string_view, 5> kWords{"none", "settled", "unclear", "grows",
                                                          "shrinks"};
  return kWords[static_cast<std::size_t>(verdict)];
}

boost::json::object drift_json(const Drift& drift) {
  return {{"verdict", verdict_word(drift.verdict)},
          {"from_step", drift.from},
          {"to_step", drift.to},
          {"bytes_per_1000_steps", drift.rate},
          {"low", drift.interval.low},
          {"high", drift.interval.high},
          {"grown", chance_json(drift.grown)}};
}

const Columns<ChanceMark>& mark_columns(bool has_limit) {
  using enum Align;
  static const Columns<ChanceMark> kAll{
      {"steps", "steps", right, &ChanceMark::steps},
      {"low_bytes", "5 % of runs below", right, &ChanceMark::low},
      {"median_bytes", "half below", right, &ChanceMark::median},
      {"high_bytes", "95 % below", right, &ChanceMark::high},
      {"failed", "ran out of memory", right, [](const ChanceMark& mark) {
         Cell cell = nested([failed = mark.failed] { return chance_json(failed); });
         cell.shown = cell.exact = chance_text(mark.failed);
         return cell;
       }}};
  static const Columns<ChanceMark> kUnlimited(kAll.begin(), kAll.end() - 1);
  return has_limit ? kAll : kUnlimited;
}

boost::json::array histogram_json(const ChanceSummary& summary) {
  boost::json::array bins;
  for (const HistogramBin& bin : summary.histogram) {
    bins.push_back({{"begin_bytes", bin.begin.count()},
                    {"end_bytes", (bin.begin + summary.bin).count()},
                    {"runs", bin.runs}});
  }
  return bins;
}

/// The keys of a case besides those of its columns.
boost::json::object case_json(const ChanceCase& row) {
  boost::json::object object;
  boost::json::object& set = object["set"].emplace_object();
  for (const auto& [key, value] : row.set) {
    set[valid_utf8(key)] = valid_utf8(value);
  }
  if (row.problem) {
    object["problem"] = valid_utf8(*row.problem);
    return object;
  }
  const ChanceSummary& summary = row.summary;
  object["settings"] = to_conf(row.settings);
  object["available_bytes"] =
      row.available ? boost::json::value(row.available->count()) : boost::json::value(nullptr);
  object["peak_reserved"] = spread95_json(summary.reserved);
  object["peak_allocated"] = spread95_json(summary.allocated);
  object["change"] = {{"mean_bytes", row.change.mean},
                      {"low_bytes", row.change.interval.low},
                      {"high_bytes", row.change.interval.high}};
  object["histogram"] = histogram_json(summary);
  object["failed"] = chance_json(summary.failed);
  object["fragmented"] = chance_json(summary.fragmented);
  object["marks"] = rows_json(tabulate("", mark_columns(true), summary.marks));
  object["drift"] = drift_json(summary.drift);
  return object;
}

auto if_possible_case(double share) {
  return [share](const ChanceCase& row) {
    return row.problem ? Cell() : Cell(quantile_of(row.summary.reserved, share).value);
  };
}

Cell change_cell(const ChanceCase& row) {
  if (row.problem || row.set.empty()) {
    return Cell::blank();
  }
  return Cell(row.change.mean)
      .shown_as(fmt::format("{} ({} to {})", signed_iec(row.change.mean),
                            signed_iec(row.change.interval.low),
                            signed_iec(row.change.interval.high)));
}

Cell failed_cell(const ChanceCase& row) {
  return row.problem ? Cell("impossible: " + *row.problem)
                     : Cell(row.summary.failed.share).shown_as(chance_text(row.summary.failed));
}

Columns<ChanceCase> case_columns() {
  using enum Align;
  return {{"", "tried", left, set_text},
          {"", "median peak reserved", right, if_possible_case(0.5), "median_peak_reserved"},
          {"", "95 % below", right, if_possible_case(0.95), "peak_reserved_95"},
          {"", "99 % below", right, if_possible_case(0.99), "peak_reserved_99"},
          {"", "change of the mean", right, change_cell, "change_of_mean"},
          {"", "ran out of memory", right, failed_cell, "failed_share"}};
}

/// "12 runs" as a bar of the longest one.
Table histogram_table(const ChanceSummary& summary) {
  const std::size_t most = std::ranges::max(summary.histogram, {}, &HistogramBin::runs).runs;
  const Columns<HistogramBin> columns{{"", "from", Align::right, &HistogramBin::begin},
                                      {"", "runs", Align::right, &HistogramBin::runs},
                                      {"", "", Align::left, [most](const HistogramBin& bin) {
                                         return std::string(
                                             (bin.runs * kBarWidth + most - 1) / most, '#');
                                       }}};
  return tabulate("Runs by peak reserved", columns, summary.histogram);
}

/// Some of many marks: no more rows than a screen has.
std::vector<ChanceMark> shown_marks(const ChanceSummary& summary) {
  constexpr std::size_t kRows = 12;
  const std::size_t every = (summary.marks.size() + kRows - 1) / kRows;
  std::vector<ChanceMark> shown;
  for (std::size_t i = 0; i < summary.marks.size(); ++i) {
    if ((summary.marks.size() - 1 - i) % every == 0) {
      shown.push_back(summary.marks[i]);
    }
  }
  return shown;
}

std::string verdict_line(const ChanceStudy& study) {
  const ChanceCase& asked = study.cases.front();
  const ChanceSummary& summary = asked.summary;
  const std::string runs = fmt::format("{} of {}", plural(study.question.runs, "run"),
                                       plural(study.question.steps, "step"));
  if (!asked.available) {
    return fmt::format("{}: peak reserved {} in the median, {} or less in 95 of 100 runs", runs,
                       to_iec(quantile_of(summary.reserved, 0.5).value),
                       to_iec(quantile_of(summary.reserved, 0.95).value));
  }
  return fmt::format("{}: {} ran out of {}; 95 % interval by Wilson", runs,
                     chance_text(summary.failed), to_iec(*asked.available));
}

std::string cause_line(const ChanceSummary& summary) {
  return fmt::format(
      "of the {} that ran out of memory, {} had enough for what was allocated and requested: "
      "fragmentation",
      plural(summary.failed.runs, "run"), chance_text(summary.fragmented));
}

/// What the peak would be if every batch were as long as can be.
std::string longest_line(const ChanceStudy& study) {
  const Simulation& longest = *study.longest.simulation;
  return fmt::format(
      "for comparison, every batch of {} tokens per sequence: peak reserved {}, peak "
      "allocated {}",
      study.longest_length, to_iec(longest.whole_peak().reserved),
      to_iec(longest.whole_peak().allocated));
}

/// What a rate comes to over the steps that were watched.
std::string growth(const Drift& drift, double rate) {
  return signed_iec(rate * static_cast<double>(drift.to - drift.from) / 1000);
}

/// ", 12.00 MiB per 1000 steps" of runs long enough for that.
std::string rate_words(const Drift& drift) {
  return drift.to - drift.from < 100 ? ""
                                     : fmt::format(", {} per 1000 steps", signed_iec(drift.rate));
}

std::string drift_line(const Drift& drift) {
  const std::string span = fmt::format("from step {} to step {}", drift.from, drift.to);
  switch (drift.verdict) {
    case DriftVerdict::none:
      return "no run came to its end, so it is open whether reserved memory "
             "still grows";
    case DriftVerdict::settled:
      return fmt::format("reserved memory has settled: it is the same {} in every run", span);
    default:
      break;
  }
  const std::string_view what = drift.verdict == DriftVerdict::grows ? "reserved memory still grows"
                                : drift.verdict == DriftVerdict::shrinks
                                    ? "reserved memory shrinks"
                                    : "reserved memory may have settled";
  return fmt::format("{}: {} in the mean ({} to {}) {}{}; it grew in {} of runs", what,
                     growth(drift, drift.rate), growth(drift, drift.interval.low),
                     growth(drift, drift.interval.high), span, rate_words(drift),
                     chance_text(drift.grown));
}

std::string draw_line(const ChanceStudy& study) {
  const ChanceQuestion& question = study.question;
  std::string text = fmt::format("seed {}", question.seed);
  if (question.lengths) {
    text += fmt::format("; lengths {}, batches of {} padded to their longest sample",
                        question.lengths_text, question.run.plan.batch);
    text += question.pad_to_multiple_of > 1
                ? fmt::format(" and to a multiple of {}", question.pad_to_multiple_of)
                : "";
  }
  text += question.loads ? fmt::format("; experts' load {}", question.loads_text) : "";
  text += question.lags ? fmt::format("; event lags {}", question.lags_text) : "";
  return text;
}

std::string best_line(const ChanceStudy& study) {
  const ChanceCase& best = study.cases[study.best()];
  const Chance& asked = study.cases.front().summary.failed;
  if (best.set.empty()) {
    return "nothing that was tried is better";
  }
  if (best.summary.failed.runs < asked.runs) {
    return fmt::format("best: {}: {} of runs run out of memory, as asked {}", set_text(best),
                       share_text(best.summary.failed.share), share_text(asked.share));
  }
  return fmt::format("best: {}: {} on the mean of peak reserved (95 %: {} to {})", set_text(best),
                     signed_iec(best.change.mean), signed_iec(best.change.interval.low),
                     signed_iec(best.change.interval.high));
}

/// The plan in words; its length is the greatest that is drawn.
std::string subject_of(const ChanceStudy& study) {
  std::string name = study.longest.name;
  const std::string seq = fmt::format("seq {},", study.longest_length);
  const std::size_t at = name.find(seq);
  if (study.question.lengths && at != std::string::npos) {
    name.replace(at, seq.size(), fmt::format("seq drawn up to {},", study.longest_length));
  }
  return name;
}

void add_people(const ChanceStudy& study, Report& report) {
  const ChanceSummary& summary = study.cases.front().summary;
  report.line(verdict_line(study));
  report.line(subject_of(study));
  report.line(draw_line(study));
  report.text("\n");
  report.table(tabulate("Peak reserved, with 95 % intervals", quantile_columns(),
                        summary.reserved.quantiles));
  report.table(histogram_table(summary));
  report.table(tabulate("By number of steps",
                        mark_columns(study.cases.front().available.has_value()),
                        shown_marks(summary)));
  if (study.cases.size() > 1) {
    report.table(tabulate("With the same draws", case_columns(), study.cases));
    report.line(best_line(study));
  }
  if (summary.failed.runs > 0) {
    report.line(cause_line(summary));
  }
  report.line(drift_line(summary.drift));
  report.line(longest_line(study));
}

void add_json(const ChanceStudy& study, Report& report) {
  const ChanceQuestion& question = study.question;
  report.value("subject", subject_of(study));
  report.value("runs", question.runs);
  report.value("steps", question.steps);
  report.value("seed", question.seed);
  report.value("lengths", question.lengths ? Cell(question.lengths_text) : Cell::blank());
  report.value("moe_loads", question.loads ? Cell(question.loads_text) : Cell::blank());
  report.value("event_lags", question.lags ? Cell(question.lags_text) : Cell::blank());
  report.value("requests", study.requests);
  report.json("longest", [&] {
    const Usage& peak = study.longest.simulation->whole_peak();
    return boost::json::value{{"length", study.longest_length},
                              {"peak_reserved_bytes", peak.reserved.count()},
                              {"peak_allocated_bytes", peak.allocated.count()}};
  });
  report.json("cases", [&] {
    boost::json::array cases;
    for (const ChanceCase& row : study.cases) {
      cases.push_back(case_json(row));
    }
    return boost::json::value(cases);
  });
  report.value("best", study.best());
}

}  // namespace

std::string chance_report(const ChanceStudy& study, OutputFormat format) {
  Report report(format, "highwater.chance/1");
  add_people(study, report);
  report.csv([&] { return tabulate("", case_columns(), study.cases); });
  add_json(study, report);
  const std::string trust = study.longest.trust();
  report.line(trust);
  report.value("trust", trust);
  return report.str();
}

}  // namespace highwater
