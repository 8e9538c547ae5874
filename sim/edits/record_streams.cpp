// Blocks without record_stream: their frees wait for no other stream.
#include "sim/edits/edit_kinds.hpp"
#include "sim/edits/rewriting.hpp"

namespace highwater {

EditReport apply(const DropRecordStreams& edit, EditedRun& run) {
  EditReport report;
  const std::vector<bool> chosen = allocations_of(edit.sites, run.trace, report);
  std::vector<bool> is_used(run.trace.allocation_count);
  std::vector<std::uint64_t> sizes(run.trace.allocation_count);
  rewrite(run, [&](const Event& event, ChunkedVector<Event>& written) {
    const bool is_chosen = event.allocation.has_value() && chosen[event.allocation.index()];
    if (is_chosen && event.kind == EventKind::alloc) {
      sizes[event.allocation.index()] = event.value;
    }
    if (!is_chosen || event.kind != EventKind::record_stream) {
      written.push_back(event);
    } else if (!is_used[event.allocation.index()]) {
      is_used[event.allocation.index()] = true;
      ++report.changed;
      report.bytes += Bytes{sizes[event.allocation.index()]};
    }
  });
  report.done = changed_blocks(report, "no longer used on other streams");
  report.assumed.emplace_back(
      "each free of these blocks completes at once, and nothing else in the program changes");
  report.unknown.emplace_back(
      "whether the program stays correct: without record_stream it has to wait itself before it "
      "frees the block or writes to it. A recording shows record_stream only where a free waited "
      "for it; it is found by the site of the allocation");
  return report;
}

}  // namespace highwater
