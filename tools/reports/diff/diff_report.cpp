#include "tools/reports/diff/diff_report.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "sim/peak/peak_change.hpp"
#include "tools/text/request_label.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/table.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// One side of the comparison: its requests and how to name them.
struct ComparedSide {
  const std::vector<ComparedRequest>* requests;
  const RequestTrace* trace;

  [[nodiscard]] const ComparedRequest& request(std::uint32_t index) const {
    return (*requests)[index];
  }

  [[nodiscard]] std::string own_label(std::uint32_t index) const {
    const Event& event = trace->events[request(index).event];
    return request_label(trace->tables, event.stack);
  }

  /// Of a free: what had allocated the block, and what frees it if that is known.
  [[nodiscard]] std::string label(std::uint32_t index) const {
    if (request(index).is_alloc) {
      return own_label(index);
    }
    const std::string freed = allocation_label(request(index).ordinal);
    const std::string own = own_label(index);
    const bool says_more = !own.empty() && own != freed;  // recorders give the allocation's stack
    return (freed.empty() ? "" : "of " + freed) + (says_more ? "  in " + own : "");
  }

  [[nodiscard]] std::string allocation_label(std::uint32_t ordinal) const {
    const auto found = std::ranges::find_if(*requests, [&](const ComparedRequest& candidate) {
      return candidate.is_alloc && candidate.ordinal == ordinal;
    });
    return found == requests->end()
               ? ""
               : own_label(static_cast<std::uint32_t>(found - requests->begin()));
  }
};

const Columns<PhaseDiff>& phase_columns() {
  using enum Align;
  using Phase = PhaseDiff;
  const auto count = [](std::uint64_t lines) {
    return lines == 0 ? std::string("=") : std::to_string(lines);
  };
  static const Columns<Phase> kColumns{
      {"", "phase", left, phase_label},
      {"", "-", right, [](const Phase& phase) { return phase.first.requests; }},
      {"", "+", right, [](const Phase& phase) { return phase.second.requests; }},
      {"", "only -", right, [count](const Phase& phase) { return count(phase.only_first); }},
      {"", "only +", right, [count](const Phase& phase) { return count(phase.only_second); }},
      {"", "peak +", right, [](const Phase& phase) { return phase.second.peak; }},
      {"", "vs -", right,
       [](const Phase& phase) {
         return size_change_text(difference(phase.first.peak, phase.second.peak));
       }},
      {"", "end +", right, [](const Phase& phase) { return phase.second.end; }},
      {"", "vs -", right, [](const Phase& phase) {
         return size_change_text(difference(phase.first.end, phase.second.end));
       }}};
  return kColumns;
}

const Columns<SizeDifference>& size_columns() {
  using enum Align;
  using Size = SizeDifference;
  static const Columns<Size> kColumns{
      {"bytes", "bytes", right, [](const Size& size) { return size.bytes.count(); }},
      {"", "size", right, &Size::bytes},
      {"first", "times -", right, &Size::first},
      {"second", "times +", right, &Size::second},
      {"", "difference", right, [](const Size& size) { return size_change_text(size.excess()); }}};
  return kColumns;
}

/// Where allocations of one side alone come from.
struct Origin {
  char sign = ' ';
  std::string label;
  std::uint64_t times = 0;
  Bytes bytes;
};

const Columns<Origin>& origin_columns() {
  using enum Align;
  static const Columns<Origin> kColumns{
      {"", "", left, [](const Origin& origin) { return std::string(1, origin.sign); }},
      {"side", "", left,
       [](const Origin& origin) { return origin.sign == '-' ? "first" : "second"; }},
      {"times", "times", right, &Origin::times},
      {"bytes", "size", right, &Origin::bytes},
      {"label", "origin", left, [](const Origin& origin) {
         return Cell(origin.label).shown_as(origin.label.empty() ? "(not recorded)" : origin.label);
       }}};
  return kColumns;
}

class DiffPrinter {
 public:
  DiffPrinter(const TraceDiff& diff, const DiffInputs& inputs, const DiffView& view)
      : diff_(&diff),
        first_{&diff.first, inputs.first},
        second_{&diff.second, inputs.second},
        view_(&view) {}

  std::string text() {
    add_phase_table();
    add_hunks();
    add_sizes();
    add_origins();
    add_verdict();
    return std::move(out_);
  }

  void add_to(json::object& root) const {
    root["equal"] = diff_->is_equal_from(std::nullopt);
    root["equal_from_step_1"] = diff_->is_equal_from(1);
    json::array& phases = root["phases"].emplace_array();
    std::size_t hunks_left = view_->max_hunks;
    for (const PhaseDiff& phase : diff_->phases) {
      if (shows(*view_, phase)) {
        phases.push_back(phase_object(phase, hunks_left));
      }
    }
    root["origins"] = rows_json(tabulate("", origin_columns(), origins()));
  }

 private:
  /// In a long run, phases in which nothing differs would hide the others.
  [[nodiscard]] bool is_listed(const PhaseDiff& phase) const {
    constexpr std::size_t kManyPhases = 40;
    return shows(*view_, phase) && (diff_->phases.size() <= kManyPhases || view_->step ||
                                    view_->phase || !phase.is_equal());
  }

  void add_phase_table() {
    std::vector<std::reference_wrapper<const PhaseDiff>> phases;
    std::size_t left_out = 0;
    for (const PhaseDiff& phase : diff_->phases) {
      if (!is_listed(phase)) {
        left_out += shows(*view_, phase) ? 1U : 0U;
        continue;
      }
      phases.emplace_back(phase);
    }
    out_ += phases.empty() ? "" : "\n" + format_aligned(tabulate("", phase_columns(), phases));
    out_ += left_out == 0 ? "" : fmt::format("  ... and {} equal phases\n", left_out);
  }

  void add_hunks() {
    std::size_t shown = 0;
    std::size_t hidden = 0;
    for (const PhaseDiff& phase : diff_->phases) {
      if (!shows(*view_, phase)) {
        continue;
      }
      for (const Hunk& hunk : hunks_of(phase, view_->context)) {
        if (shown < view_->max_hunks) {
          out_ += shown == 0 ? "\nFirst difference:\n" : "\n";
          add_hunk(phase, hunk);
          ++shown;
        } else {
          ++hidden;
        }
      }
    }
    if (hidden != 0) {
      out_ += fmt::format("\n... and {} more hunks (--max-hunks, --step, --phase)\n", hidden);
    }
  }

  void add_hunk(const PhaseDiff& phase, const Hunk& hunk) {
    out_ += fmt::format("@@ {}, lines {}-{} of {} @@\n", phase_label(phase), hunk.begin + 1,
                        hunk.end, phase.lines.size());
    const std::size_t end = std::min(hunk.end, hunk.begin + view_->max_lines);
    for (std::size_t i = hunk.begin; i < end; ++i) {
      out_ += line_text(phase.lines[i]) + "\n";
    }
    if (end != hunk.end) {
      out_ += fmt::format("  ... {} more lines in this hunk\n", hunk.end - end);
    }
  }

  [[nodiscard]] static std::string ordinals(const ComparedRequest* a, const ComparedRequest* b) {
    if (a != nullptr && b != nullptr && a->ordinal != b->ordinal) {
      return fmt::format("#{}/{}", a->ordinal, b->ordinal);
    }
    return fmt::format("#{}", a != nullptr ? a->ordinal : b->ordinal);
  }

  [[nodiscard]] std::string line_text(const DiffLine& line) const {
    const ComparedRequest* a = line.first ? &first_.request(*line.first) : nullptr;
    const ComparedRequest* b = line.second ? &second_.request(*line.second) : nullptr;
    const ComparedRequest& any = a != nullptr ? *a : *b;
    const char sign = line.is_common() ? ' ' : a != nullptr ? '-' : '+';
    const std::string stream = any.stream == 0 ? "" : fmt::format(" stream {}", any.stream);
    return fmt::format("{} {:<5} {:<12} {:>13} {:>11}{}  {}", sign, any.is_alloc ? "alloc" : "free",
                       ordinals(a, b), any.bytes.count(), to_iec(any.bytes), stream,
                       printable(line_label(line)));
  }

  /// A common line names both sides, where both are known.
  [[nodiscard]] std::string line_label(const DiffLine& line) const {
    const std::string a = line.first ? first_.label(*line.first) : "";
    const std::string b = line.second ? second_.label(*line.second) : "";
    return a.empty() ? b : b.empty() || a == b ? a : a + "  |  " + b;
  }

  void add_sizes() {
    std::size_t shown = 0;
    std::size_t left_out = 0;
    for (const PhaseDiff& phase : diff_->phases) {
      if (!shows(*view_, phase) || phase.sizes.empty()) {
        continue;
      }
      if (shown < view_->max_size_phases) {
        add_sizes(phase);
        ++shown;
      } else {
        ++left_out;
      }
    }
    out_ += left_out == 0 ? "" : fmt::format("\n... and sizes in {} more phases\n", left_out);
  }

  void add_sizes(const PhaseDiff& phase) {
    const std::span<const SizeDifference> sizes = phase.sizes;
    const Table table = tabulate("Requested sizes, " + phase_label(phase), size_columns(),
                                 sizes.first(std::min(sizes.size(), view_->max_sizes)));
    out_ += "\n" + format_aligned(table);
    if (phase.sizes.size() > table.rows.size()) {
      out_ += fmt::format("  ... and {} more sizes\n", phase.sizes.size() - table.rows.size());
    }
  }

  /// Allocations of one side alone by where they come from, most bytes first.
  [[nodiscard]] std::vector<Origin> origins() const {
    std::map<std::pair<char, std::string>, Origin> found;
    for (const PhaseDiff& phase : diff_->phases) {
      if (!shows(*view_, phase)) {
        continue;
      }
      for (const DiffLine& line : phase.lines) {
        if (line.is_common()) {
          continue;
        }
        const ComparedSide& side = line.first ? first_ : second_;
        const std::uint32_t index = line.first ? *line.first : *line.second;
        if (side.request(index).is_alloc) {
          const char sign = line.first ? '-' : '+';
          const std::string label = side.own_label(index);
          Origin& origin = found[{sign, label}];
          origin = {sign, label, origin.times + 1, origin.bytes + side.request(index).bytes};
        }
      }
    }
    std::vector<Origin> sorted;
    for (auto& [key, origin] : found) {
      sorted.push_back(std::move(origin));
    }
    std::ranges::stable_sort(sorted, std::ranges::greater{}, &Origin::bytes);
    return sorted;
  }

  void add_origins() {
    const std::vector<Origin> found = origins();
    const std::span<const Origin> listed(found.data(), std::min(found.size(), view_->max_origins));
    const Table table =
        tabulate("Allocations on only one side, by origin", origin_columns(), listed);
    if (!table.rows.empty()) {
      out_ += "\n" + format_aligned(table);
    }
    if (found.size() > table.rows.size()) {
      out_ += fmt::format("  ... and {} more origins\n", found.size() - table.rows.size());
    }
  }

  void add_verdict() {
    std::uint64_t only_first = 0;
    std::uint64_t only_second = 0;
    for (const PhaseDiff& phase : diff_->phases) {
      only_first += phase.only_first;
      only_second += phase.only_second;
    }
    if (only_first == 0 && only_second == 0) {
      out_ += fmt::format("\nequal: all {} requests\n", diff_->first.size());
      return;
    }
    out_ += fmt::format("\n{} of {} requests only in -, {} of {} only in +; from step 1 on {}\n",
                        only_first, diff_->first.size(), only_second, diff_->second.size(),
                        diff_->is_equal_from(1) ? "equal" : "different");
  }

  static json::object load_object(const PhaseLoad& load) {
    return {{"requests", load.requests},
            {"peak_bytes", load.peak.count()},
            {"end_bytes", load.end.count()}};
  }

  [[nodiscard]] json::object line_object(const DiffLine& line) const {
    const ComparedRequest& any =
        line.first ? first_.request(*line.first) : second_.request(*line.second);
    json::object object{{"side", line.is_common() ? "both"
                                 : line.first     ? "first"
                                                  : "second"},
                        {"kind", any.is_alloc ? "alloc" : "free"},
                        {"bytes", any.bytes.count()},
                        {"stream", any.stream}};
    if (line.first) {
      object["first_allocation"] = first_.request(*line.first).ordinal;
      object["first_label"] = valid_utf8(first_.label(*line.first));
    }
    if (line.second) {
      object["second_allocation"] = second_.request(*line.second).ordinal;
      object["second_label"] = valid_utf8(second_.label(*line.second));
    }
    return object;
  }

  [[nodiscard]] json::object phase_object(const PhaseDiff& phase, std::size_t& hunks_left) const {
    json::object object{{"step", phase.step ? json::value(*phase.step) : json::value(nullptr)},
                        {"phase", valid_utf8(phase.phase)},
                        {"occurrence", phase.occurrence},
                        {"equal", phase.is_equal()},
                        {"only_first", phase.only_first},
                        {"only_second", phase.only_second},
                        {"first", load_object(phase.first)},
                        {"second", load_object(phase.second)}};
    json::array& hunks = object["hunks"].emplace_array();
    for (const Hunk& hunk : hunks_of(phase, view_->context)) {
      if (hunks_left == 0) {
        break;
      }
      --hunks_left;
      json::array lines;
      for (std::size_t i = hunk.begin; i < hunk.end; ++i) {
        lines.push_back(line_object(phase.lines[i]));
      }
      hunks.push_back({{"begin", hunk.begin}, {"lines", std::move(lines)}});
    }
    object["sizes"] = rows_json(tabulate("", size_columns(), phase.sizes));
    return object;
  }

  const TraceDiff* diff_;
  ComparedSide first_;
  ComparedSide second_;
  const DiffView* view_;
  std::string out_;
};

}  // namespace

bool shows(const DiffView& view, const PhaseDiff& phase) {
  return (!view.step || phase.step == view.step) && (!view.phase || phase.phase == *view.phase);
}

std::string diff_header(const DiffInputs& inputs) {
  std::string text =
      fmt::format("- {}\n+ {}\n", printable(inputs.first_name), printable(inputs.second_name));
  for (const std::string& note : inputs.notes) {
    text += "note: " + printable(note) + "\n";
  }
  return text;
}

json::object diff_json(const DiffInputs& inputs) {
  return {{"schema", "highwater.diff/1"},
          {"first", valid_utf8(inputs.first_name)},
          {"second", valid_utf8(inputs.second_name)}};
}

std::string requests_text(const TraceDiff& diff, const DiffInputs& inputs, const DiffView& view) {
  return DiffPrinter(diff, inputs, view).text();
}

void add_requests_json(const TraceDiff& diff, const DiffInputs& inputs, const DiffView& view,
                       json::object& root) {
  DiffPrinter(diff, inputs, view).add_to(root);
}

}  // namespace highwater
