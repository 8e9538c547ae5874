#include "sim/edits/edit_kinds.hpp"

namespace highwater {

SiteSet all_sites(const RequestTrace& trace) {
  return {.stacks = std::vector<bool>(trace.tables.stacks.stack_count(), true),
          .without_stack = true};
}

RequestTrace copy_of(const RequestTrace& trace) {
  RequestTrace copy = without_events(trace);
  for (const Event& event : trace.events) {
    copy.events.push_back(event);
  }
  return copy;
}

EditReport apply_edit(const Edit& edit, EditedRun& run) {
  const EditReport report = std::visit([&](const auto& kind) { return apply(kind, run); }, edit);
  run.times.clear();
  return report;
}

}  // namespace highwater
