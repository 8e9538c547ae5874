#include "tools/reports/exports/export_perfetto.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <queue>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "sim/peak/replay_history.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/text_output.hpp"

namespace highwater {
namespace {

constexpr std::size_t kStretches = 2000;    // of the run: up to 8000 points a curve
constexpr std::size_t kMaxSlices = 20'000;  // of one kind
constexpr std::size_t kMaxMarks = 10'000;

constexpr std::array<std::pair<Curve, std::string_view>, 3> kCurves{
    {{Curve::reserved, "reserved"}, {Curve::allocated, "allocated"}, {Curve::active, "active"}}};

std::string json_text(std::string_view text) {
  return boost::json::serialize(boost::json::string(valid_utf8(text)));
}

/// The events of one run.
class RunWriter {
 public:
  /// `first` is true as long as nothing was written to the list of events.
  RunWriter(const ObservedRun& run, const ReplayHistory& history, TextOutput& out, bool& first)
      : run_(&run), history_(&history), out_(&out), first_(&first) {}

  void write() {
    name("process_name", memory_process(), 0, fmt::format("GPU {} memory", run_->replay.device));
    name("process_name", segment_process(), 0, fmt::format("GPU {} segments", run_->replay.device));
    write_curves(history_->timeline, "");
    for (const auto& [home, timeline] : history_->pools) {
      write_curves(timeline, fmt::format(" ({})", words(home)));
    }
    write_ranges(RangeKind::step, "steps");
    write_ranges(RangeKind::phase, "phases");
    write_ranges(RangeKind::op, "operators");
    write_segments();
    write_marks();
  }

  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  [[nodiscard]] int memory_process() const { return 2 * run_->replay.device + 1; }

  [[nodiscard]] int segment_process() const { return memory_process() + 1; }

  [[nodiscard]] std::int64_t time(std::uint64_t event) const {
    return run_->times.of(event) - run_->times.of(0);
  }

  /// "large, stream 0", "small, stream 7, pool 0,1".
  [[nodiscard]] std::string words(const PoolStream& home) const {
    std::string text =
        fmt::format("{}, stream {}", home.kind == PoolKind::large ? "large" : "small",
                    run_->trace->stream_handles.at(home.stream.index()));
    if (!home.owner.is_default()) {
      text += fmt::format(", pool {},{}", home.owner.capture, home.owner.user);
    }
    return text;
  }

  template <class... Args>
  void event(fmt::format_string<Args...> format, Args&&... args) {
    out_->text(*first_ ? "\n" : ",\n");
    *first_ = false;
    out_->put(format, std::forward<Args>(args)...);
  }

  void name(std::string_view what, int process, int thread, std::string_view value) {
    event(R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":{}}}}})", what, process,
          thread, json_text(value));
  }

  void write_curves(const Timeline& timeline, const std::string& suffix) {
    for (const auto& [curve, name] : kCurves) {
      const std::string title = json_text(std::string(name) + suffix);
      for (const CurvePoint& point : timeline.curve(curve).points()) {
        event(R"({{"ph":"C","name":{},"pid":{},"tid":0,"ts":{},"args":{{"bytes":{}}}}})", title,
              memory_process(), time(point.at), point.value.count());
      }
    }
  }

  [[nodiscard]] std::string range_name(RangeKind kind, const HistoryRange& range) const {
    return kind == RangeKind::step ? fmt::format("step {}", range.value)
                                   : std::string(run_->trace->tables.strings[range.name()]);
  }

  void write_ranges(RangeKind kind, std::string_view title) {
    const KeptItems<HistoryRange>& ranges = history_->of(kind);
    left_out_ += ranges.left_out();
    const int thread = static_cast<int>(kind) + 1;
    if (!ranges.items.empty()) {
      name("thread_name", memory_process(), thread, title);
    }
    for (const HistoryRange& range : ranges.items) {
      event(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{}}})",
            json_text(range_name(kind, range)), title, memory_process(), thread, time(range.begin),
            time(range.end) - time(range.begin));
    }
  }

  [[nodiscard]] std::uint64_t end_of(const SegmentLife& life) const {
    return life.end.value_or(history_->length);
  }

  void write_segments() {
    std::vector<SegmentLife> lives = history_->segments.items;
    left_out_ += history_->segments.left_out();
    std::ranges::sort(lives, [](const SegmentLife& a, const SegmentLife& b) {
      return std::pair(a.begin, a.range.begin) < std::pair(b.begin, b.range.begin);
    });
    // Slices on one lane must not overlap: each takes the lowest lane that is free by then.
    using Busy = std::pair<std::int64_t, int>;  // until when, lane
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    std::priority_queue<int, std::vector<int>, std::greater<>> unused;
    int lanes = 0;
    for (const SegmentLife& life : lives) {
      while (!busy.empty() && busy.top().first <= time(life.begin)) {
        unused.push(busy.top().second);
        busy.pop();
      }
      int lane = 0;
      if (unused.empty()) {
        lane = ++lanes;
        name("thread_name", segment_process(), lane, fmt::format("lane {}", lane));
      } else {
        lane = unused.top();
        unused.pop();
      }
      busy.emplace(std::max(time(end_of(life)), time(life.begin) + 1), lane);
      write_segment(life, lane);
    }
  }

  void write_segment(const SegmentLife& life, int lane) {
    event(R"({{"ph":"X","name":"{} {}","cat":"segment","pid":{},"tid":{},"ts":{},"dur":{},)"
          R"("args":{{"address":"{:#x}","bytes":{},"released":{}}}}})",
          to_iec(life.range.size), words(life.home), segment_process(), lane, time(life.begin),
          time(end_of(life)) - time(life.begin), life.range.begin.value(), life.range.size.count(),
          life.end.has_value());
  }

  void write_marks() {
    constexpr std::array<std::string_view, kMarkKinds> kNames{
        "out of memory", "retry after freeing the cache", "empty_cache"};
    const std::size_t count = std::min(history_->marks.size(), kMaxMarks);
    left_out_ += std::accumulate(history_->mark_counts.begin(), history_->mark_counts.end(),
                                 std::uint64_t{0}) -
                 count;
    for (std::size_t i = 0; i < count; ++i) {
      const HistoryMark& mark = history_->marks[i];
      const bool is_request = mark.kind != MarkKind::empty_cache;
      event(R"({{"ph":"i","name":"{}","cat":"incident","s":"p","pid":{},"tid":0,"ts":{},)"
            R"("args":{{"requested_bytes":{}}}}})",
            kNames.at(static_cast<std::size_t>(mark.kind)), memory_process(), time(mark.at),
            is_request ? mark.bytes.count() : 0);
    }
  }

  const ObservedRun* run_;
  const ReplayHistory* history_;
  TextOutput* out_;
  bool* first_;
  std::uint64_t left_out_ = 0;
};

}  // namespace

void write_chrome_trace(const ObservedRuns& runs, ByteSink& sink) {
  TextOutput out(sink);
  out.text("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
  bool first = true;
  std::uint64_t left_out = 0;
  bool is_timed = !runs.runs.empty();
  for (const ObservedRun& run : runs.runs) {
    const ReplayHistory history = collect_history(*run.trace, run.observe,
                                                  {.axis = HistoryAxis::events,
                                                   .stretches = kStretches,
                                                   .marks = kMaxMarks,
                                                   .ranges = kMaxSlices,
                                                   .kept_ranges = KeptRanges::longest,
                                                   .segments = kMaxSlices,
                                                   .moments = {.ooms = 0, .step_ends = 0},
                                                   .step_begins = {}});
    RunWriter writer(run, history, out, first);
    writer.write();
    left_out += writer.left_out();
    is_timed &= run.times.are_recorded();
  }
  out.put("\n],\"otherData\":{{\"time\":\"{}\",\"slices_left_out\":{},\"trust\":{}}}}}\n",
          is_timed ? "as recorded" : "one microsecond per event", left_out, json_text(runs.trust));
  out.flush();
  sink.commit();
}

}  // namespace highwater
