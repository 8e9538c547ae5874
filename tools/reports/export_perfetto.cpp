#include "tools/reports/export_perfetto.hpp"

#include <algorithm>
#include <array>
#include <queue>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "sim/peak/memory_story.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/text_output.hpp"

namespace highwater {
namespace {

constexpr std::size_t kStretches = 2000;    // of the run: up to 8000 points a curve
constexpr std::size_t kMaxSlices = 20'000;  // of one kind
constexpr std::size_t kMaxIncidents = 10'000;

constexpr std::array<std::string_view, kStoryCurveCount> kCurveNames{"reserved", "allocated",
                                                                     "active"};

std::string json_text(std::string_view text) {
  return boost::json::serialize(boost::json::string(valid_utf8(text)));
}

/// The events of one run.
class RunWriter {
 public:
  /// `first` is true as long as nothing was written to the list of events.
  RunWriter(const ObservedRun& run, const MemoryStory& story, TextOutput& out, bool& first)
      : run_(&run), story_(&story), out_(&out), first_(&first) {}

  void write() {
    name("process_name", memory_process(), 0, fmt::format("GPU {} memory", run_->replay.device));
    name("process_name", segment_process(), 0, fmt::format("GPU {} segments", run_->replay.device));
    write_curves(story_->total, "");
    for (const auto& [home, curves] : story_->pools) {
      write_curves(curves, fmt::format(" ({})", words(home)));
    }
    write_ranges(RangeKind::step, "steps");
    write_ranges(RangeKind::phase, "phases");
    write_ranges(RangeKind::op, "operators");
    write_segments();
    write_incidents();
  }

  [[nodiscard]] std::size_t left_out() const { return left_out_; }

 private:
  [[nodiscard]] int memory_process() const { return 2 * run_->replay.device + 1; }

  [[nodiscard]] int segment_process() const { return memory_process() + 1; }

  [[nodiscard]] std::int64_t time(std::size_t event) const {
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

  void write_curves(const StoryCurves& curves, const std::string& suffix) {
    for (std::size_t c = 0; c < kStoryCurveCount; ++c) {
      const std::string title = json_text(std::string(kCurveNames.at(c)) + suffix);
      for (const CurvePoint& point : curves.at(c)) {
        event(R"({{"ph":"C","name":{},"pid":{},"tid":0,"ts":{},"args":{{"bytes":{}}}}})", title,
              memory_process(), time(point.event), point.value.count());
      }
    }
  }

  [[nodiscard]] std::string range_name(const StoryRange& range) const {
    return range.kind == RangeKind::step
               ? fmt::format("step {}", range.value)
               : std::string(run_->trace->tables
                                 .strings[StringId{static_cast<std::uint32_t>(range.value)}]);
  }

  void write_ranges(RangeKind kind, std::string_view title) {
    std::vector<StoryRange> ranges;
    std::ranges::copy_if(story_->ranges, std::back_inserter(ranges),
                         [&](const StoryRange& range) { return range.kind == kind; });
    keep_largest(ranges, [](const StoryRange& range) { return range.end - range.begin; });
    std::ranges::sort(ranges, {}, &StoryRange::begin);
    const int thread = static_cast<int>(kind) + 1;
    if (!ranges.empty()) {
      name("thread_name", memory_process(), thread, title);
    }
    for (const StoryRange& range : ranges) {
      event(R"({{"ph":"X","name":{},"cat":"{}","pid":{},"tid":{},"ts":{},"dur":{}}})",
            json_text(range_name(range)), title, memory_process(), thread, time(range.begin),
            time(range.end) - time(range.begin));
    }
  }

  /// Keeps the kMaxSlices of the greatest weight and counts the others.
  template <class T, class Weight>
  void keep_largest(std::vector<T>& slices, Weight weight) {
    if (slices.size() > kMaxSlices) {
      std::ranges::nth_element(slices, slices.begin() + kMaxSlices, std::ranges::greater{}, weight);
      left_out_ += slices.size() - kMaxSlices;
      slices.resize(kMaxSlices);
    }
  }

  [[nodiscard]] std::size_t end_of(const SegmentLife& life) const {
    return life.end.value_or(story_->events);
  }

  void write_segments() {
    std::vector<SegmentLife> lives = story_->segments;
    keep_largest(lives, [&](const SegmentLife& life) {
      return static_cast<double>(life.range.size.count()) *
             static_cast<double>(end_of(life) - life.begin + 1);
    });
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

  void write_incidents() {
    constexpr std::array<std::string_view, 3> kNames{
        "out of memory", "retry after freeing the cache", "empty_cache"};
    const std::size_t count = std::min(story_->incidents.size(), kMaxIncidents);
    left_out_ += story_->incidents.size() - count;
    for (std::size_t i = 0; i < count; ++i) {
      const StoryIncident& incident = story_->incidents[i];
      event(R"({{"ph":"i","name":"{}","cat":"incident","s":"p","pid":{},"tid":0,"ts":{},)"
            R"("args":{{"requested_bytes":{}}}}})",
            kNames.at(static_cast<std::size_t>(incident.kind)), memory_process(),
            time(incident.event), incident.bytes.count());
    }
  }

  const ObservedRun* run_;
  const MemoryStory* story_;
  TextOutput* out_;
  bool* first_;
  std::size_t left_out_ = 0;
};

}  // namespace

void write_chrome_trace(const ObservedRuns& runs, ByteSink& sink) {
  TextOutput out(sink);
  out.text("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
  bool first = true;
  std::size_t left_out = 0;
  bool is_timed = !runs.runs.empty();
  for (const ObservedRun& run : runs.runs) {
    StoryTeller teller(*run.trace, kStretches);
    run.observe(teller);
    const MemoryStory story = teller.take();
    RunWriter writer(run, story, out, first);
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
