#include "tools/reports/exports/export_csv.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>

#include <fmt/format.h>

#include "tools/reports/exports/operation_texts.hpp"
#include "tools/reports/exports/stack_profile.hpp"
#include "tools/text/csv_field.hpp"
#include "tools/text/text_output.hpp"

namespace highwater {
namespace {

template <class Value>
std::string text_or_nothing(const std::optional<Value>& value) {
  return value ? std::to_string(*value) : "";
}

void put_row(TextOutput& out, int device, const OperationRow& row, OperationTexts& texts) {
  const bool has_block = row.allocation.has_value();
  out.put("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", device, row.operation, action_of(row),
          csv_field(texts.allocation(row.allocation)),
          has_block ? std::to_string(row.bytes.count()) : "",
          text_or_nothing(texts.stream(row.stream)),
          row.address ? fmt::format("{:#x}", row.address->value()) : "", row.after.reserved.count(),
          row.after.allocated.count(), row.after.active.count(), row.after.requested.count(),
          text_or_nothing(row.step), csv_field(texts.phase(row.phase)),
          csv_field(texts.site(row.stack)));
}

/// A semicolon ends a frame and the last space the stack.
std::string folded_frame(const FrameWords& frame) {
  std::string text = frame.file;
  if (frame.line > 0) {
    text += fmt::format(":{}", frame.line);
  }
  text += (text.empty() ? "" : " ") + frame.function;
  std::ranges::replace(text, ';', ',');
  return text;
}

std::string folded_stack(const SideTables& tables, StackId stack) {
  std::string text;
  for (const FrameWords& frame : frames_of(tables, stack) | std::views::reverse) {
    text += (text.empty() ? "" : ";") + folded_frame(frame);
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
    OperationTexts texts(*run.trace);
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
    const LiveMemory live = live_in(run, moment);
    const std::string root =
        runs.runs.size() > 1 ? fmt::format("device {};", run.replay.device) : "";
    std::map<std::string, Bytes> lines;
    for (const StackHolder& holder : live.holders) {
      lines[root + folded_stack(run.trace->tables, holder.origin)] += holder.held;
    }
    for (const auto& [stack, bytes] : lines) {
      out.put("{} {}\n", stack, bytes.count());
    }
    total += live.total;
  }
  out.flush();
  sink.commit();
  return total;
}

}  // namespace highwater
