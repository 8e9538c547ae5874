#include "sim/edits/rewriting.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace highwater {

AllocationId new_allocation(RequestTrace& trace) {
  const AllocationId id{trace.allocation_count++};
  if (!trace.allocation_names.empty()) {
    trace.allocation_names.push_back("edit-" + std::to_string(id.value()));
  }
  return id;
}

StreamId stream_called(RequestTrace& trace, std::uint64_t handle) {
  return streams_called(trace, {&handle, 1}).front();
}

std::vector<StreamId> streams_called(RequestTrace& trace, std::span<const std::uint64_t> handles) {
  std::vector<std::uint64_t> all = trace.stream_handles;
  all.insert(all.end(), handles.begin(), handles.end());
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const auto number = [&](std::uint64_t handle) {
    return StreamId{static_cast<std::size_t>(std::ranges::lower_bound(all, handle) - all.begin())};
  };
  if (all.size() != trace.stream_handles.size()) {
    std::vector<StreamId> numbers(trace.stream_handles.size());
    std::ranges::transform(trace.stream_handles, numbers.begin(), number);
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      StreamId& stream = trace.events[i].stream;
      stream = stream.has_value() ? numbers[stream.index()] : stream;
    }
    trace.stream_handles = all;
  }
  std::vector<StreamId> result(handles.size());
  std::ranges::transform(handles, result.begin(), number);
  return result;
}

StreamId SpareStreams::take() {
  if (unused_.empty()) {
    std::vector<std::uint64_t>& handles = trace_->stream_handles;
    handles.push_back(handles.empty() ? 1 : handles.back() + 1);
    return StreamId{handles.size() - 1};
  }
  const StreamId stream = unused_.back();
  unused_.pop_back();
  return stream;
}

std::vector<bool> allocations_of(const SiteSet& sites, const RequestTrace& trace,
                                 EditReport& report) {
  std::vector<bool> chosen(trace.allocation_count);
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc && sites.contains(event.stack)) {
      chosen[event.allocation.index()] = true;
      ++report.blocks;
    }
  }
  return chosen;
}

std::string changed_blocks(const EditReport& report, std::string_view what) {
  return fmt::format("{} of {} blocks ({}) {}", report.changed, report.blocks, to_iec(report.bytes),
                     what);
}

}  // namespace highwater
