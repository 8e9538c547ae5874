#include "sim/recordings/simulated_recording.hpp"

#include <algorithm>
#include <utility>

namespace highwater {
namespace {

bool is_on_segments(RecordedAction action) {
  return action == RecordedAction::segment_alloc || action == RecordedAction::segment_map;
}

StackId found_or_none(const std::unordered_map<std::uint64_t, StackId>& stacks, Address address) {
  const auto found = stacks.find(address.value());
  return found == stacks.end() ? StackId::none() : found->second;
}

}  // namespace

SimulatedRecorder::SimulatedRecorder(const RequestTrace& trace, EventTimes times, int device)
    : trace_(&trace), times_(std::move(times)) {
  device_.index = device;
}

void SimulatedRecorder::on_begin(const CachingAllocator& /*allocator*/,
                                 const TraceDriver& /*driver*/) {
  RecordedDevice fresh;
  fresh.index = device_.index;
  fresh.stream_handles = trace_->stream_handles;
  device_ = std::move(fresh);
  next_event_ = 0;
  settled_ = 0;
  block_stacks_.clear();
  segment_stacks_.clear();
  open_step_.reset();
  open_phase_.reset();
  annotations_.clear();
}

void SimulatedRecorder::on_decision(const Decision& decision) {
  device_.entries.push_back({.address = decision.address,
                             .size = decision.size,
                             .stream = static_cast<std::uint16_t>(decision.stream.value()),
                             .action = decision.action});
  ++device_.action_counts.at(static_cast<std::size_t>(decision.action));
}

void SimulatedRecorder::on_state(const Event& event, AllocationStatus /*status*/,
                                 const CachingAllocator& /*allocator*/,
                                 const TraceDriver& /*driver*/) {
  const std::int64_t time = times_.of(next_event_++);
  for (; settled_ < device_.entries.size(); ++settled_) {
    RecordedEntry& entry = device_.entries[settled_];
    entry.time_us = time;
    entry.stack = stack_for(entry, event);
    remember(entry);
  }
  mark(event, time);
  last_time_ = time;
}

/// What waited for other streams completes during a later request, with the stack that it was
/// allocated with; everything else carries the stack of the call.
StackId SimulatedRecorder::stack_for(const RecordedEntry& entry, const Event& event) const {
  const bool is_late =
      entry.action == RecordedAction::free_completed && event.kind != EventKind::free;
  return is_late ? found_or_none(block_stacks_, entry.address) : event.stack;
}

void SimulatedRecorder::remember(const RecordedEntry& entry) {
  if (is_on_segments(entry.action)) {
    segment_stacks_[entry.address.value()] = entry.stack;
  } else if (entry.action == RecordedAction::alloc) {
    block_stacks_[entry.address.value()] = entry.stack;
  } else if (entry.action == RecordedAction::free_completed) {
    block_stacks_.erase(entry.address.value());
  }
}

void SimulatedRecorder::mark(const Event& event, std::int64_t time) {
  if (event.kind == EventKind::step) {
    close(open_phase_, time);
    open(open_step_, "step " + std::to_string(event.value), time);
  } else if (event.kind == EventKind::phase) {
    open(open_phase_, std::string(trace_->tables.strings[event.text()]), time);
  }
}

void SimulatedRecorder::open(std::optional<std::string>& range, std::string name,
                             std::int64_t time) {
  close(range, time);
  annotations_.push_back(
      {.name = name, .is_start = true, .device = device_.index, .time_us = time});
  range = std::move(name);
}

void SimulatedRecorder::close(std::optional<std::string>& range, std::int64_t time) {
  if (range) {
    annotations_.push_back(
        {.name = *range, .is_start = false, .device = device_.index, .time_us = time});
    range.reset();
  }
}

std::vector<Annotation> SimulatedRecorder::take_annotations() {
  close(open_phase_, last_time_);
  close(open_step_, last_time_);
  return std::move(annotations_);
}

RecordedDevice SimulatedRecorder::take_device(const MemoryMap& map) {
  for (const MapSegment& segment : map.segments) {
    device_.segments.push_back(recorded(segment));
  }
  keep_used_streams();
  return std::move(device_);
}

RecordedSegment SimulatedRecorder::recorded(const MapSegment& segment) const {
  RecordedSegment result;
  result.address = segment.address;
  result.size = segment.size;
  result.stream = static_cast<std::uint16_t>(segment.stream.value());
  result.is_large = segment.kind == PoolKind::large;
  result.is_expandable = segment.is_expandable;
  result.pool = segment.owner;
  result.stack = found_or_none(segment_stacks_, segment.address);
  for (const MapBlock& block : segment.blocks) {
    const bool is_active = block.state != BlockState::inactive;
    result.blocks.push_back(
        {block.address, block.size, block.requested,
         is_active ? found_or_none(block_stacks_, block.address) : StackId::none(), block.state});
  }
  return result;
}

/// Streams that stand for "other streams" of a derived trace never hold memory.
void SimulatedRecorder::keep_used_streams() {
  std::vector<bool> is_used(device_.stream_handles.size());
  for (const RecordedEntry& entry : device_.entries) {
    is_used.at(entry.stream) = true;
  }
  for (const RecordedSegment& segment : device_.segments) {
    is_used.at(segment.stream) = true;
  }
  std::vector<std::uint16_t> numbers(is_used.size());
  std::vector<std::uint64_t> handles;
  for (std::size_t i = 0; i < is_used.size(); ++i) {
    numbers[i] = static_cast<std::uint16_t>(handles.size());
    if (is_used[i]) {
      handles.push_back(device_.stream_handles[i]);
    }
  }
  for (std::size_t i = 0; i < device_.entries.size(); ++i) {
    device_.entries[i].stream = numbers[device_.entries[i].stream];
  }
  for (RecordedSegment& segment : device_.segments) {
    segment.stream = numbers[segment.stream];
  }
  device_.stream_handles = std::move(handles);
}

RecordedSettings recorded_settings(const Settings& settings) {
  RecordedSettings recorded;
  recorded.conf = to_conf(settings);
  recorded.max_split_size = settings.max_split_size == kUnlimited
                                ? -1
                                : static_cast<std::int64_t>(settings.max_split_size.count());
  recorded.garbage_collection_threshold = settings.garbage_collection_threshold;
  recorded.expandable_segments = settings.expandable_segments;
  for (std::size_t i = 0; i < settings.roundup_power2_divisions.size(); ++i) {
    recorded.roundup_power2_divisions[std::uint64_t{1} << i] = settings.roundup_power2_divisions[i];
  }
  return recorded;
}

WriterVersion writer_of(const VersionPreset& version) {
  if (is_since(version, "2.13")) {
    return {"2.13", ""};
  }
  if (is_since(version, "2.12")) {
    return {"2.12", "2.12"};
  }
  return is_since(version, "2.10") ? WriterVersion{"2.10", "2.11"} : WriterVersion{"2.5", "2.7"};
}

}  // namespace highwater
