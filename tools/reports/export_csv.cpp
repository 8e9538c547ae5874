#include "tools/reports/export_csv.hpp"

#include <array>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "tools/text/csv_field.hpp"
#include "tools/text/safe_text.hpp"
#include "tools/text/site_label.hpp"
#include "tools/text/text_output.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

std::string_view action_of(const OperationRow& row) {
  constexpr std::array<std::string_view, 13> kNames{
      "alloc",        "free",         "record_stream", "stream_done", "all_streams_done",
      "empty_cache",  "reset_peaks",  "pool_begin",    "pool_end",    "pool_retire",
      "pool_release", "set_settings", "memory_limit"};
  return row.status == AllocationStatus::out_of_memory
             ? "oom"
             : kNames.at(static_cast<std::size_t>(row.kind));
}

/// The texts of one run, made once each.
class RowTexts {
 public:
  explicit RowTexts(const RequestTrace& trace)
      : trace_(&trace), sites_(trace.tables.stacks.stack_count()) {}

  [[nodiscard]] std::string allocation(AllocationId id) const {
    if (!id.has_value()) {
      return "";
    }
    const auto& names = trace_->allocation_names;
    return names.empty() ? std::to_string(id.value()) : field(names.at(id.index()));
  }

  [[nodiscard]] std::string stream(StreamId id) const {
    return id.has_value() ? std::to_string(trace_->stream_handles.at(id.index())) : "";
  }

  [[nodiscard]] std::string phase(StringId id) const {
    return id.has_value() ? field(trace_->tables.strings[id]) : "";
  }

  [[nodiscard]] const std::string& site(StackId id) {
    static const std::string kNone;
    if (!id.has_value()) {
      return kNone;
    }
    std::string& text = sites_.at(id.index());
    text = text.empty() ? field(site_label(trace_->tables, id)) : text;
    return text;
  }

 private:
  static std::string field(std::string_view text) { return csv_field(printable(text)); }

  const RequestTrace* trace_;
  std::vector<std::string> sites_;
};

void put_row(TextOutput& out, int device, const OperationRow& row, RowTexts& texts) {
  const bool has_block = row.allocation.has_value();
  out.put("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", device, row.operation, action_of(row),
          texts.allocation(row.allocation), has_block ? std::to_string(row.bytes.count()) : "",
          texts.stream(row.stream), row.address ? fmt::format("{:#x}", row.address->value()) : "",
          row.after.reserved.count(), row.after.allocated.count(), row.after.active.count(),
          row.after.requested.count(), row.step ? std::to_string(*row.step) : "",
          texts.phase(row.phase), texts.site(row.stack));
}

/// A semicolon ends a frame and the last space the stack.
std::string folded_frame(const SideTables& tables, const Frame& frame) {
  std::string text = printable(tables.strings[frame.file]);
  if (frame.line > 0) {
    text += fmt::format(":{}", frame.line);
  }
  text += " " + printable(tables.strings[frame.function]);
  for (char& c : text) {
    c = c == ';' ? ',' : c;
  }
  return text;
}

std::string folded_stack(const SideTables& tables, StackId stack) {
  if (!stack.has_value() || tables.stacks.stack(stack).empty()) {
    return "(no stack recorded)";
  }
  std::string text;
  const auto frames = tables.stacks.stack(stack);
  for (std::size_t i = frames.size(); i-- > 0;) {
    text += folded_frame(tables, tables.stacks.frame(frames[i])) + (i == 0 ? "" : ";");
  }
  return text;
}

}  // namespace

void write_operations_csv(const ObservedRuns& runs, ByteSink& sink) {
  TextOutput out(sink);
  out.text(
      "device,n,action,id,bytes,stream,address,reserved,allocated,active,requested,step,phase,"
      "site\n");
  for (const ObservedRun& run : runs.runs) {
    RowTexts texts(*run.trace);
    OperationRows rows(*run.trace, run.older, [&](const OperationRow& row) {
      put_row(out, run.replay.device, row, texts);
    });
    run.observe(rows);
  }
  out.flush();
  sink.commit();
}

Bytes write_folded_stacks(const ObservedRuns& runs, const LiveChoice& moment, ByteSink& sink) {
  TextOutput out(sink);
  Bytes total;
  for (const ObservedRun& run : runs.runs) {
    const auto live = live_bytes_at(*run.trace, run.older, moment, run.observe);
    if (!live) {
      throw UsageError(fmt::format("--at {}: the run on device {} has only {} operations",
                                   std::get<std::uint64_t>(moment), run.replay.device,
                                   run.replay.result.operations));
    }
    const std::string root =
        runs.runs.size() > 1 ? fmt::format("device {};", run.replay.device) : "";
    std::map<std::string, Bytes> lines;
    for (const StackHolder& holder : live->holders) {
      lines[root + folded_stack(run.trace->tables, holder.origin)] += holder.held;
    }
    for (const auto& [stack, bytes] : lines) {
      out.put("{} {}\n", stack, bytes.count());
    }
    total += live->total;
  }
  out.flush();
  sink.commit();
  return total;
}

}  // namespace highwater
