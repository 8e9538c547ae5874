#include "sim/edits/edit_kinds.hpp"

namespace highwater {

SiteSet all_sites(const RequestTrace& trace) {
  return {.stacks = std::vector<bool>(trace.tables.stacks.stack_count(), true),
          .without_stack = true};
}

RequestTrace without_events(const RequestTrace& trace) {
  RequestTrace copy;
  copy.header = trace.header;
  copy.stream_handles = trace.stream_handles;
  copy.pools = trace.pools;
  copy.allocation_names = trace.allocation_names;
  copy.allocation_count = trace.allocation_count;
  copy.tables = trace.tables;
  return copy;
}

RequestTrace copy_of(const RequestTrace& trace) {
  RequestTrace copy = without_events(trace);
  for (const Event& event : trace.events) {
    copy.events.push_back(event);
  }
  return copy;
}

EditReport apply_edit(const Edit& edit, EditedRun& run) {
  return std::visit([&](const auto& kind) { return apply(kind, run); }, edit);
}

}  // namespace highwater
