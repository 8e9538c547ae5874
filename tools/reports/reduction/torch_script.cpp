#include "tools/reports/reduction/torch_script.hpp"

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/reduction/program.hpp"
#include "tools/reports/reduction/reduce_report.hpp"
#include "tools/text/safe_text.hpp"
#include "traces/overloaded.hpp"
#include "traces/pool_options.hpp"

namespace highwater {
namespace {

/// A Python string literal.
std::string python_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    result += c == '"' || c == '\\' ? fmt::format("\\{}", c) : std::string(1, c);
  }
  return result + "\"";
}

constexpr const char* kCaptureStream = "capture_stream";

class ScriptWriter {
 public:
  explicit ScriptWriter(const ReducedRun& run) : run_(run), trace_(run.reduction.trace) {}

  std::string write() {
    write_head();
    write_bound();
    write_helpers();
    write_requests();
    write_verdict();
    return std::move(text_);
  }

 private:
  void line(std::string_view text) { text_.append(text).append("\n"); }

  void write_head() {
    line("#!/usr/bin/env python3");
    line(fmt::format("\"\"\"{}", run_sentence(run_)));
    line("");
    line(fmt::format("Made by highwater reduce from {}, with the allocator of PyTorch {}.",
                     one_line(run_.workload.name), run_.workload.options.version->name));
    line(fmt::format("Without a GPU: {}", record_line(run_, "this_script.py")));
    line("Exit code 0: PyTorch shows it; 1: it does not.");
    line("\"\"\"");
    line("import os");
    line("import sys");
    line("");
    line(fmt::format("os.environ[\"PYTORCH_CUDA_ALLOC_CONF\"] = {}",
                     python_text(to_conf(run_.workload.options.settings))));
    line("import torch");
    line("");
  }

  /// Text that comes from a file, inside a docstring or a comment.
  static std::string one_line(std::string_view text) {
    std::string result = printable(text);
    for (char& c : result) {
      c = c == '\\' || c == '"' ? '\'' : c;
    }
    return result;
  }

  void write_bound() {
    if (run_.bound != ScriptBound::none) {
      line(
          fmt::format("MOST = {}  # bytes that the process may reserve", run_.most_memory.count()));
      line("TOTAL = torch.cuda.get_device_properties(0).total_memory");
    }
    if (run_.bound == ScriptBound::fraction) {
      line("if TOTAL < MOST:");
      line("    sys.exit(f\"this GPU has {TOTAL} bytes; the program needs {MOST}\")");
      line("torch.cuda.set_per_process_memory_fraction(min(1.0, (MOST + 0.5) / TOTAL))");
    } else if (run_.bound == ScriptBound::device) {
      line(
          "print(f\"a limit of the process does not do: this needs a GPU with {MOST} bytes free, "
          "not {TOTAL}\")");
    }
  }

  void write_helpers() {
    line("torch.cuda.init()");
    write_streams();
    write_pools();
    line("");
    line("");
    line("def empty(size):");
    line("    return torch.empty(size, dtype=torch.uint8, device=\"cuda\")");
    if (has_event(trace_, EventKind::record_stream)) {
      line("");
      line("");
      line("def keep_busy(stream):");
      line("    with torch.cuda.stream(stream):");
      line("        torch.cuda._sleep(10_000_000_000)  # cycles: some seconds");
    }
    if (has_event(trace_, EventKind::pool_end)) {
      line("");
      line("");
      line("def end_pool(pool):");
      line("    end = getattr(torch._C, \"_cuda_endAllocateToPool\", None)  # the name since 2.7");
      line("    (end or torch._C._cuda_endAllocateCurrentStreamToPool)(0, pool)");
    }
    line("");
    line("");
  }

  void write_streams() {
    std::set<StreamId> streams;
    for (const Event& event : trace_.events) {
      if (event.stream.has_value() && !is_default(event.stream)) {
        streams.insert(event.stream);
      }
    }
    for (const StreamId stream : streams) {
      line(fmt::format("{} = torch.cuda.Stream()", name(stream)));
    }
    if (has_captures()) {
      line(fmt::format("{} = torch.cuda.Stream()", kCaptureStream));
    }
  }

  [[nodiscard]] bool has_captures() const {
    bool found = false;
    for (const Event& event : trace_.events) {
      found |= event.kind == EventKind::pool_begin &&
               session_kind_of(event.value) == SessionKind::capture;
    }
    return found;
  }

  /// Only an object gives a pool options.
  void write_pools() {
    for (const Event& event : trace_.events) {
      if (event.kind == EventKind::pool_begin && pool_options_of(event.value) != PoolOptions{} &&
          pools_with_options_.insert(event.pool).second) {
        line(fmt::format("pool{} = torch.cuda.MemPool({})", event.pool,
                         arguments(pool_options_of(event.value))));
      }
    }
  }

  /// "no_split=True, use_on_oom=True"
  static std::string arguments(PoolOptions options) {
    std::string text;
    for (const PoolOptionWord& each : kPoolOptionWords) {
      if (options.*each.option) {
        text += fmt::format("{}{}=True", text.empty() ? "" : ", ", each.word);
      }
    }
    return text;
  }

  [[nodiscard]] bool is_default(StreamId stream) const {
    return trace_.stream_handles[stream.index()] == 0;
  }

  [[nodiscard]] std::string name(StreamId stream) const {
    return is_default(stream) ? "torch.cuda.default_stream()"
                              : fmt::format("stream{}", stream.value());
  }

  static std::string name(AllocationId id) { return fmt::format("block{}", id.value()); }

  void write_requests() {
    const std::size_t count = trace_.events.size();
    const bool fails = std::holds_alternative<KeptFailure>(run_.reduction.property);
    for (std::size_t i = 0; i < count; ++i) {
      const bool is_last = fails && i + 1 == count;
      if (is_last) {
        line("try:");
      }
      note_capture(i);
      write_request(trace_.events[i], is_last ? "    " : "");
    }
  }

  /// What the program asks for on the default stream, which cannot be captured, is on a stream for
  /// captures while one is open.
  [[nodiscard]] std::string stream_of(const Event& event) const {
    return is_default(event.stream) && !open_.empty() ? std::string(kCaptureStream)
                                                      : name(event.stream);
  }

  /// A capture begins on the stream of its first block.
  void note_capture(std::size_t i) {
    if (trace_.events[i].kind != EventKind::pool_begin ||
        session_kind_of(trace_.events[i].value) != SessionKind::capture) {
      return;
    }
    while (i < trace_.events.size() && trace_.events[i].kind != EventKind::alloc) {
      ++i;
    }
    const bool is_on_own = i < trace_.events.size() && !is_default(trace_.events[i].stream);
    begun_ = Capture{fmt::format("graph{}", ++captures_),
                     is_on_own ? name(trace_.events[i].stream) : std::string(kCaptureStream)};
  }

  std::string begin_pool(const Event& event) {
    if (!begun_) {
      return fmt::format("torch._C._cuda_beginAllocateToPool(0, {})", pool(event));
    }
    const Capture capture = *std::exchange(begun_, std::nullopt);
    open_[event.pool] = capture;
    graphs_[event.pool].push_back(capture.graph);
    return fmt::format(
        "{0} = torch.cuda.CUDAGraph()\nwith torch.cuda.stream({1}): {0}.capture_begin(pool={2})",
        capture.graph, capture.stream, pool(event));
  }

  std::string end_pool(const Event& event) {
    const auto open = open_.extract(event.pool);
    return open.empty() ? fmt::format("end_pool({})", pool(event))
                        : fmt::format("with torch.cuda.stream({}): {}.capture_end()",
                                      open.mapped().stream, open.mapped().graph);
  }

  /// A graph is the user of the pool that it was captured into.
  std::string release_pool(const Event& event) {
    std::vector<std::string>& graphs = graphs_[event.pool];
    if (graphs.empty()) {
      return fmt::format("torch._C._cuda_releasePool(0, {})", pool(event));
    }
    const std::string graph = graphs.back();
    graphs.pop_back();
    return graph + ".reset()";
  }

  void write_request(const Event& event, std::string_view indent) {
    if (event.kind == EventKind::record_stream && busy_.insert(event.stream).second) {
      line(fmt::format("{}keep_busy({})", indent, name(event.stream)));
    }
    if (event.kind == EventKind::stream_done) {
      busy_.erase(event.stream);
    } else if (event.kind == EventKind::all_streams_done) {
      busy_.clear();
    }
    line(fmt::format("{}{}{}", indent, statement(event), comment(event)));
  }

  [[nodiscard]] std::string comment(const Event& event) const {
    const std::string site = event.stack.has_value() && event.kind == EventKind::alloc
                                 ? run_.workload.site(event.stack)
                                 : "";
    return site.empty() ? "" : "  # " + one_line(site);
  }

  [[nodiscard]] std::string statement(const Event& event) {
    switch (event.kind) {
      case EventKind::alloc:
        return allocation(event);
      case EventKind::free:
        return "del " + name(event.allocation);
      case EventKind::record_stream:
        return fmt::format("{}.record_stream({})", name(event.allocation), name(event.stream));
      case EventKind::stream_done:
        return name(event.stream) + ".synchronize()";
      case EventKind::all_streams_done:
        return "torch.cuda.synchronize()";
      case EventKind::empty_cache:
        return "torch.cuda.empty_cache()";
      case EventKind::pool_begin:
        return begin_pool(event);
      case EventKind::pool_end:
        return end_pool(event);
      case EventKind::pool_release:
        return release_pool(event);
      case EventKind::set_settings:
        return fmt::format("torch.cuda.memory._set_allocator_settings({})",
                           python_text(trace_.tables.strings[event.text()]));
      case EventKind::memory_limit:
        return memory_limit(event);
      case EventKind::pool_retire:  // its object stays, as others may need it
      case EventKind::reset_peaks:
      case EventKind::step:
      case EventKind::phase:
      case EventKind::op:
        break;  // a reduced program has none
    }
    return "";
  }

  /// What the script limits itself to is a share of the device that it runs on.
  static std::string memory_limit(const Event& event) {
    const std::string share =
        event.value == kNoLimit
            ? "1.0"
            : fmt::format("{} / torch.cuda.get_device_properties(0).total_memory", event.value);
    return fmt::format("torch.cuda.set_per_process_memory_fraction({})", share);
  }

  [[nodiscard]] std::string allocation(const Event& event) const {
    const std::string call = fmt::format("{} = empty({})", name(event.allocation), event.value);
    return is_default(event.stream) && open_.empty()
               ? call
               : fmt::format("with torch.cuda.stream({}): {}", stream_of(event), call);
  }

  [[nodiscard]] std::string pool(const Event& event) const {
    if (pools_with_options_.contains(event.pool)) {
      return fmt::format("pool{}.id", event.pool);
    }
    const PoolId id = trace_.pools[event.pool];
    return fmt::format("({}, {})", id.capture, id.user);
  }

  void write_verdict() {
    std::visit(Overloaded{[&](const KeptFailure& /*failure*/) { write_failure(); },
                          [&](const KeptPeak& kept) { write_peak(kept); },
                          [&](const KeptFragmentation& kept) { write_fragmentation(kept); }},
               run_.reduction.property);
  }

  void write_failure() {
    line("except torch.cuda.OutOfMemoryError as error:");
    line("    print(f\"shown: {error}\")");
    line("else:");
    line("    sys.exit(\"not shown: the last request succeeded\")");
  }

  void write_peak(const KeptPeak& kept) {
    line("peak = torch.cuda.max_memory_reserved()");
    line("print(f\"peak reserved: {peak} bytes\")");
    line(fmt::format("sys.exit(0 if peak >= {} else 1)", kept.least.count()));
  }

  void write_fragmentation(const KeptFragmentation& kept) {
    line("stats = torch.cuda.memory_stats()");
    line("share = 1 - stats[\"active_bytes.all.peak\"] / stats[\"reserved_bytes.all.peak\"]");
    line("print(f\"fragmentation (1 - peak active / peak reserved): {share:.4f}\")");
    line(fmt::format("sys.exit(0 if share >= {} else 1)", kept.least));
  }

  struct Capture {
    std::string graph;   ///< its variable
    std::string stream;  ///< in Python
  };

  const ReducedRun& run_;
  const RequestTrace& trace_;
  std::string text_;
  std::set<StreamId> busy_;
  std::set<PoolIndex> pools_with_options_;
  std::optional<Capture> begun_;  ///< of the pool_begin that is written
  std::map<PoolIndex, Capture> open_;
  std::map<PoolIndex, std::vector<std::string>> graphs_;  ///< that use a pool
  std::size_t captures_ = 0;
};

}  // namespace

std::string torch_script(const ReducedRun& run) {
  return ScriptWriter(run).write();
}

}  // namespace highwater
