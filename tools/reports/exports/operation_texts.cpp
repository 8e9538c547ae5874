#include "tools/reports/exports/operation_texts.hpp"

#include <array>

#include "tools/text/safe_text.hpp"
#include "tools/text/site_label.hpp"

namespace highwater {

std::string_view action_of(const OperationRow& row) {
  constexpr std::array<std::string_view, 13> kNames{
      "alloc",        "free",         "record_stream", "stream_done", "all_streams_done",
      "empty_cache",  "reset_peaks",  "pool_begin",    "pool_end",    "pool_retire",
      "pool_release", "set_settings", "memory_limit"};
  return row.status == AllocationStatus::out_of_memory
             ? "oom"
             : kNames.at(static_cast<std::size_t>(row.kind));
}

OperationTexts::OperationTexts(const RequestTrace& trace)
    : trace_(&trace), sites_(trace.tables.stacks.stack_count()) {}

std::string OperationTexts::allocation(AllocationId id) const {
  if (!id.has_value()) {
    return "";
  }
  const auto& names = trace_->allocation_names;
  return names.empty() ? std::to_string(id.value()) : printable(names.at(id.index()));
}

std::optional<std::uint64_t> OperationTexts::stream(StreamId id) const {
  return id.has_value() ? std::optional<std::uint64_t>(trace_->stream_handles.at(id.index()))
                        : std::nullopt;
}

std::string OperationTexts::phase(StringId id) const {
  return id.has_value() ? printable(trace_->tables.strings[id]) : "";
}

const std::string& OperationTexts::site(StackId id) {
  static const std::string kNone;
  if (!id.has_value()) {
    return kNone;
  }
  std::string& text = sites_.at(id.index());
  text = text.empty() ? printable(site_label(trace_->tables, id)) : text;
  return text;
}

}  // namespace highwater
