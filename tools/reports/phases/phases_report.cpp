#include "tools/reports/phases/phases_report.hpp"

#include <algorithm>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "tools/json/members.hpp"
#include "tools/reports/replay_members.hpp"
#include "tools/text/plural.hpp"
#include "tools/text/report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

constexpr std::string_view kSchema = "highwater.phases/1";

/// A row with the question that it belongs to.
struct ShownRow {
  const PhasesAnswer* answer = nullptr;
  const PhaseRow* row = nullptr;

  [[nodiscard]] const Phase& phase() const { return answer->question.phases[row->turn.phase]; }
};

std::vector<ShownRow> shown_rows(const PhasesAnswer& answer) {
  std::vector<ShownRow> rows;
  for (const PhaseRow& row : answer.rows) {
    rows.push_back({&answer, &row});
  }
  return rows;
}

std::string phase_name(const ShownRow& of) {
  return valid_utf8(of.phase().name);
}

/// The name of the program whose turn it is; "" for nobody's.
std::string program_name(const ShownRow& of) {
  return of.phase().program ? valid_utf8(of.answer->question.programs[*of.phase().program].name)
                            : "";
}

std::uint64_t cycle_number(const ShownRow& of) {
  return of.row->turn.cycle + 1;
}

JsonMap<Bytes> live_of(const ShownRow& of) {
  JsonMap<Bytes> live;
  for (std::size_t i = 0; i < of.row->turn.live.size(); ++i) {
    live.members.emplace_back(valid_utf8(of.answer->question.programs[i].name),
                              of.row->turn.live[i]);
  }
  return live;
}

/// What holds at the end of the last cycle, and how much more that is than a cycle before.
struct Stay {
  Bytes reserved;
  std::int64_t reserved_growth = 0;
  std::int64_t live_growth = 0;
};

std::int64_t difference(Bytes now, Bytes before) {
  return static_cast<std::int64_t>(now.count()) - static_cast<std::int64_t>(before.count());
}

/// Absent where memory ran out, or where there is one cycle alone.
std::optional<Stay> stay_of(const PhasesAnswer& answer) {
  const std::size_t phases = answer.question.phases.size();
  if (!answer.fits() || answer.question.cycles < 2) {
    return std::nullopt;
  }
  const PhaseRow& last = answer.rows.back();
  const PhaseRow& before = answer.rows[answer.rows.size() - 1 - phases];
  return Stay{last.end.reserved, difference(last.end.reserved, before.end.reserved),
              difference(last.end.requested, before.end.requested)};
}

std::string size_words(std::int64_t bytes) {
  return to_iec(Bytes{static_cast<std::uint64_t>(bytes < 0 ? -bytes : bytes)});
}

std::string growth_words(const Stay& stay) {
  if (stay.reserved_growth == 0) {
    return "as after the cycle before";
  }
  const std::string words =
      fmt::format("{} {} than after the cycle before", size_words(stay.reserved_growth),
                  stay.reserved_growth > 0 ? "more" : "less");
  return stay.reserved_growth > 0 && stay.live_growth <= 0
             ? words + ", with nothing more in use: fragmentation"
             : words;
}

std::string memory_words(const PhasesAnswer& answer) {
  const MemoryRequest& memory = answer.question.memory;
  const std::optional<Bytes> limit = memory.memory_limit ? memory.memory_limit : memory.capacity;
  return limit ? " in " + to_iec(*limit) : "";
}

std::string place_words(const ShownRow& of) {
  return fmt::format("cycle {}, {}", cycle_number(of), phase_name(of));
}

std::string failed_place(const PhasesAnswer& answer) {
  const PhaseRow& row = answer.rows.back();
  return place_words({&answer, &row}) +
         (row.ended == PhaseEnd::out_of_memory_waking ? kWaking : "");
}

std::string failure_words(const PhasesAnswer& answer) {
  const OutOfMemory& oom = answer.result.ooms.front().account;
  return fmt::format("{}: {} are asked for, {} of {} reserved are in use, {} are left",
                     failed_place(answer), to_iec(oom.requested), to_iec(oom.allocated),
                     to_iec(oom.reserved), to_iec(oom.device_free));
}

std::string found_words(const PhasesAnswer& answer) {
  const WantedBlock& wanted = *answer.question.wanted;
  const ProgramSource& program = answer.question.programs[wanted.program];
  const NamedBlock& block = std::get<std::vector<NamedBlock>>(program.source).at(wanted.block);
  const std::string name = fmt::format("{}:{}", program.name, block.name);
  constexpr std::uint64_t kMebibyte = 1 << 20;
  return answer.found->best
             ? fmt::format(
                   "largest {} that fits: {}; all that follows is with it", name,
                   to_iec(Bytes{static_cast<std::uint64_t>(*answer.found->best) * kMebibyte}))
             : fmt::format("no {} fits; all that follows is with 1 MiB of it", name);
}

Columns<ShownRow> row_columns(const PhasesAnswer& answer) {
  using enum Align;
  Columns<ShownRow> columns{
      {"", "cycle", right, cycle_number},
      {"", "phase", left, phase_name},
      {"", "runs", left, program_name},
      {"", "gone to sleep", right, [](const ShownRow& of) { return of.row->turn.slept; },
       "slept_bytes"},
      {"", "woken", right, [](const ShownRow& of) { return of.row->turn.woken; }, "woken_bytes"},
      {"", "peak reserved", right, [](const ShownRow& of) { return of.row->peak.reserved; },
       "peak_reserved_bytes"},
      {"", "peak allocated", right, [](const ShownRow& of) { return of.row->peak.allocated; },
       "peak_allocated_bytes"},
      {"", "reserved at its end", right, [](const ShownRow& of) { return of.row->end.reserved; },
       "end_reserved_bytes"}};
  for (std::size_t i = 0; i < answer.question.programs.size(); ++i) {
    const std::string name = valid_utf8(answer.question.programs[i].name);
    columns.push_back({"", "held by " + name, right,
                       [i](const ShownRow& of) { return of.row->turn.live[i]; },
                       "live_bytes." + name});
  }
  return columns;
}

Table row_table(const PhasesAnswer& answer) {
  return tabulate("Phases", row_columns(answer), shown_rows(answer));
}

std::vector<std::string> notes_of(const PhasesAnswer& answer) {
  std::vector<std::string> notes = answer.notes;
  notes.emplace_back(
      "assumed: what sleeps gives its blocks back and asks for the same ones again, in the order "
      "in "
      "which they were made; a copy on the host is not counted");
  notes.emplace_back(
      "not known: what programs share. Weights that a trainer and an engine both use count twice "
      "unless one of them leaves them out; an allocator of an engine's own (vLLM's sleep mode) "
      "gives "
      "memory back in another way");
  return notes;
}

}  // namespace

template <>
struct Members<ShownRow> {
  static constexpr auto kRows = std::to_array({
      member<cycle_number>("cycle", "from 1"),
      member<phase_name>("phase", "its name"),
      member<program_name>("program", "whose turn it is; empty: nobody's"),
      member<[](const ShownRow& of) { return of.row->turn.slept; }>(
          "slept_bytes", "given back at its begin by what sleeps from here on"),
      member<[](const ShownRow& of) { return of.row->turn.woken; }>(
          "woken_bytes", "asked for again at its begin by what has slept"),
      member<[](const ShownRow& of) { return of.row->waking; }>(
          "waking_peak", "the highest values until all that wakes is there"),
      member<[](const ShownRow& of) { return of.row->peak; }>("peak", "the highest values of all"),
      member<[](const ShownRow& of) { return of.row->end; }>("end", "at its end"),
      member<live_of>("live_bytes", "asked for and held at its end, by program"),
      member<[](const ShownRow& of) { return of.row->ended == PhaseEnd::complete; }>(
          "complete", "false: memory ran out in it"),
  });
};

template <>
struct Members<Stay> {
  static constexpr auto kRows = std::to_array({
      member<&Stay::reserved>("reserved_bytes", "after the last cycle"),
      member<&Stay::reserved_growth>("reserved_growth_bytes", "beyond the cycle before"),
      member<&Stay::live_growth>("live_growth_bytes",
                                 "asked for and held, beyond the cycle before"),
  });
};

template <>
struct Members<PhasesAnswer> {
  using Answer = PhasesAnswer;
  static constexpr auto kRows = std::to_array({
      member<[](const Answer& of) { return valid_utf8(of.question.file); }>("file", "the question"),
      member<&Answer::fits>("fits", "whether all cycles run to their end"),
      member<phases_sentence>("verdict", "the same in words"),
      member<[](const Answer& of) { return of.result.peak; }>("peak",
                                                              "the highest values of all cycles"),
      member<shown_rows>("phases", "of every cycle, up to a failure"),
      member_if_known<stay_of>("after", "the last cycle, where there are more and all fit"),
      member_if_known<[](const Answer& of) {
        return of.found ? std::optional(of.found->best.value_or(0) * (std::int64_t{1} << 20))
                        : std::nullopt;
      }>("largest_bytes", "of the block that was asked for; 0: none fits"),
      member<notes_of>("notes", "what is assumed, and what is not known"),
  });
};

std::string phases_sentence(const PhasesAnswer& answer) {
  if (!answer.fits()) {
    return fmt::format("DOES NOT FIT{}: {}", memory_words(answer), failure_words(answer));
  }
  const ShownRow highest{&answer, &answer.highest()};
  const std::optional<Stay> stay = stay_of(answer);
  return fmt::format(
      "{}: peak reserved {}, in {}{}",
      memory_words(answer).empty() ? "with unlimited memory" : "FITS" + memory_words(answer),
      to_iec(answer.result.peak.reserved), place_words(highest),
      stay ? fmt::format("; {} stay reserved after the last cycle, {}", to_iec(stay->reserved),
                         growth_words(*stay))
           : "");
}

std::string phases_report(const PhasesAnswer& answer, OutputFormat format) {
  Report report(format, kSchema);
  report.paragraph(phases_sentence(answer));
  if (answer.found) {
    report.paragraph(found_words(answer));
  }
  report.table(row_table(answer), Gap::before);
  report.items("Notes", notes_of(answer));
  report.csv([&] { return row_table(answer); });
  report.members([&] { return object_json(answer); });
  return report.str();
}

boost::json::object phases_schema() {
  return answer_schema<PhasesAnswer>("phases", kSchema);
}

}  // namespace highwater
