#include "tools/reports/captures/captures_report.hpp"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/reports/replay_report.hpp"
#include "tools/text/plural.hpp"
#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

/// A row with the number that edits name it by.
struct NumberedCapture {
  std::uint64_t number = 0;
  const CaptureRow* row = nullptr;
};

Columns<NumberedCapture> capture_columns() {
  using enum Align;
  using Row = NumberedCapture;
  return {
      {"capture", "capture", right, [](const Row& of) { return of.number; }},
      {"site", "largest block's site", left,
       [](const Row& of) { return valid_utf8(of.row->site); }},
      {"graphs", "graphs", right, [](const Row& of) { return of.row->capture.graphs; }},
      {"pool", "pool", left,
       [](const Row& of) {
         return fmt::format("({}, {})", of.row->pool.capture, of.row->pool.user);
       }},
      {"blocks", "blocks", right, [](const Row& of) { return of.row->capture.blocks; }},
      {"most_live_bytes", "most live", right,
       [](const Row& of) { return of.row->capture.most_live; }, "most_live_bytes"},
      {"alone_bytes", "pool of its own", right, [](const Row& of) { return of.row->alone; },
       "alone_bytes"},
      {"added_bytes", "adds to a shared pool", right, [](const Row& of) { return of.row->added; },
       "added_bytes"},
  };
}

/// An arrangement beside the run as it was.
struct ArrangementRow {
  const ArrangedRun* run = nullptr;
  const ArrangedRun* recorded = nullptr;
};

std::int64_t change_of(const ArrangementRow& row) {
  return static_cast<std::int64_t>(row.run->peak.reserved.count()) -
         static_cast<std::int64_t>(row.recorded->peak.reserved.count());
}

std::string change_words(std::int64_t change) {
  const Bytes size{static_cast<std::uint64_t>(change < 0 ? -change : change)};
  return change == 0 ? "" : fmt::format("{}{}", change < 0 ? "-" : "+", to_iec(size));
}

Columns<ArrangementRow> arrangement_columns() {
  using enum Align;
  using Row = ArrangementRow;
  return {
      {"arrangement", "arrangement", left, [](const Row& of) { return of.run->name; }},
      {"peak_reserved_bytes", "peak reserved", right,
       [](const Row& of) { return of.run->peak.reserved; }, "peak_reserved_bytes"},
      {"change_bytes", "change", right,
       [](const Row& of) { return Cell(change_of(of)).shown_as(change_words(change_of(of))); },
       "change_bytes"},
      {"graph_pools_bytes", "private pools", right,
       [](const Row& of) { return of.run->graph_pools; }, "graph_pools_bytes"},
      {"common_pools_bytes", "common pools at the end", right,
       [](const Row& of) { return of.run->common_pools; }, "common_pools_bytes"},
      {"ooms", "", right, [](const Row& of) { return of.run->ooms; }},
      {"edit", "--edit", left, [](const Row& of) { return of.run->edit; }},
  };
}

Table capture_table(const CapturesRun& run) {
  std::vector<NumberedCapture> rows;
  for (const CaptureRow& row : run.captures) {
    rows.push_back({rows.size() + 1, &row});
  }
  return tabulate("Captures", capture_columns(), rows);
}

Table arrangement_table(const CapturesRun& run) {
  std::vector<ArrangementRow> rows;
  for (const ArrangedRun& each : run.arrangements) {
    rows.push_back({&each, &run.arrangements.front()});
  }
  return tabulate("Arrangements, each replayed", arrangement_columns(), rows);
}

/// The captures were cut out of the run and put back where they were: a check of the cut.
std::string check_words(const CapturesRun& run) {
  const Bytes replayed = run.workload.replay.result.peak.reserved;
  const Bytes again = run.arrangements.front().peak.reserved;
  return again == replayed
             ? std::string("as recorded, the arrangement has the peak of the run itself")
             : fmt::format(
                   "as recorded, the arrangement has a peak of {}, and the run itself {}: "
                   "the difference is what the cut into captures does not know",
                   to_iec(again), to_iec(replayed));
}

std::string search_words(const CapturesRun& run) {
  return run.is_every_order ? fmt::format("all {} orders were tried", run.orders_tried)
                            : fmt::format("{} orders were tried, not all; try more with --orders",
                                          run.orders_tried);
}

/// Whether the first capture has no preparation though others have.
bool is_first_unprepared(const CapturesRun& run) {
  const auto is_prepared = [](const CaptureRow& row) {
    return row.capture.begin != row.capture.first;
  };
  return !is_prepared(run.captures.front()) && std::ranges::any_of(run.captures, is_prepared);
}

std::vector<std::string> notes_of(const CapturesRun& run) {
  std::vector<std::string> notes = replay_notes(run.workload.replay);
  notes.push_back(check_words(run));
  if (!run.are_marked) {
    notes.emplace_back(
        "the run does not mark its captures, highwater record does: a capture is taken to end "
        "where "
        "memory is asked for outside of its pool, or freed");
  }
  if (is_first_unprepared(run)) {
    notes.emplace_back(
        "what prepares the first capture does not differ from what comes before it, and stays in "
        "front of all in other orders");
  }
  if (run.orders_tried > 0) {
    notes.push_back(search_words(run));
  }
  notes.emplace_back(
      "assumed: what is allocated between two captures prepares the second and moves with it; "
      "graphs live to the end of the run");
  notes.emplace_back(
      "not known: what the driver takes for each instantiated graph, which no allocator sees; and "
      "whether graphs that share memory are replayed so that none overwrites what another needs");
  return notes;
}

boost::json::object run_json(const CapturesRun& run) {
  boost::json::object object;
  object["subject"] = valid_utf8(run.workload.name);
  object["device"] = run.workload.replay.device;
  object["verdict"] = captures_sentence(run);
  object["marked"] = run.are_marked;
  object["captures"] = rows_json(capture_table(run));
  object["arrangements"] = rows_json(arrangement_table(run));
  object["best"] = run.best;
  object["orders_tried"] = run.orders_tried;
  object["every_order"] = run.is_every_order;
  boost::json::array notes;
  for (const std::string& note : notes_of(run)) {
    notes.emplace_back(valid_utf8(note));
  }
  object["notes"] = std::move(notes);
  object["trust"] = valid_utf8(run.workload.trust());
  return object;
}

void add_run(const CapturesRun& run, Report& report) {
  report.line(fmt::format("{}, device {}", run.workload.name, run.workload.replay.device));
  report.paragraph(captures_sentence(run));
  report.table(capture_table(run));
  report.table(arrangement_table(run), Gap::none);
  for (const std::string& note : notes_of(run)) {
    report.line("note: " + note);
  }
  report.line(run.workload.trust());
}

}  // namespace

std::string captures_sentence(const CapturesRun& run) {
  const ArrangedRun& recorded = run.arrangements.front();
  const ArrangedRun& best = run.arrangements[run.best];
  std::string sentence = fmt::format("{}: private pools of {}, peak reserved {}",
                                     plural(run.captures.size(), "capture"),
                                     to_iec(recorded.graph_pools), to_iec(recorded.peak.reserved));
  if (best.peak.reserved < recorded.peak.reserved) {
    sentence += fmt::format("; {}: {} and {}", best.name, to_iec(best.graph_pools),
                            to_iec(best.peak.reserved));
  } else {
    sentence += "; no arrangement tried has a lower peak";
  }
  return sentence;
}

std::string captures_report(const std::vector<CapturesRun>& runs, OutputFormat format) {
  Report report(format, "highwater.captures/1");
  for (const CapturesRun& run : runs) {
    add_run(run, report);
    report.csv([&] { return arrangement_table(run); });
  }
  report.json("devices", [&] {
    boost::json::array devices;
    for (const CapturesRun& run : runs) {
      devices.push_back(run_json(run));
    }
    return devices;
  });
  return report.str();
}

}  // namespace highwater
