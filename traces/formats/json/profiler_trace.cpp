#include "traces/formats/json/profiler_trace.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "traces/formats/json/json_stream.hpp"

namespace highwater {
namespace {

constexpr std::string_view kProfilerRemedy =
    "record with torch.profiler.profile(profile_memory=True) and export_chrome_trace(file)";
constexpr std::int64_t kCuda = 1;  // c10::DeviceType::CUDA

/// One "[memory]" event.
struct MemoryEvent {
  double time = 0;
  std::int64_t bytes = 0;
  std::uint64_t address = 0;
  std::int64_t allocated = -1;  ///< in all, after it
  std::int64_t reserved = -1;
  std::int64_t device_type = -1;
  std::int64_t device = 0;
};

/// Collects the memory events of a trace; everything else passes by.
class MemoryEvents : public detail::JsonEvents {
 public:
  void begin_object() {
    if (++depth_ == 1 + outer_) {
      event_ = {};
      is_memory_ = false;
    }
  }

  void end_object() {
    if (depth_-- == 1 + outer_ && is_memory_ && event_.device_type == kCuda) {
      by_device_[event_.device].push_back(event_);
    }
  }

  /// A trace is an object with a list of events, or that list.
  void begin_array() {
    if (depth_ == 0) {
      outer_ = 0;
    }
  }

  void key(std::string_view text) { key_ = text; }

  void text(std::string_view value) {
    is_memory_ |= depth_ == 1 + outer_ && key_ == "name" && value == "[memory]";
  }

  void integer(std::int64_t value) {
    if (depth_ == 1 + outer_ && key_ == "ts") {
      event_.time = static_cast<double>(value);
    } else if (depth_ == 2 + outer_) {
      set_argument(value);
    }
  }

  void natural(std::uint64_t value) { integer(static_cast<std::int64_t>(value)); }

  void real(double value) {
    if (depth_ == 1 + outer_ && key_ == "ts") {
      event_.time = value;
    }
  }

  /// Of the device that has most, in order of time.
  std::vector<MemoryEvent> take() {
    const auto most = std::ranges::max_element(
        by_device_, {}, [](const auto& entry) { return entry.second.size(); });
    if (most == by_device_.end()) {
      return {};
    }
    std::vector<MemoryEvent> events = std::move(most->second);
    std::ranges::stable_sort(events, {}, &MemoryEvent::time);
    return events;
  }

 private:
  void set_argument(std::int64_t value) {
    if (key_ == "Bytes") {
      event_.bytes = value;
    } else if (key_ == "Addr") {
      event_.address = static_cast<std::uint64_t>(value);
    } else if (key_ == "Total Allocated") {
      event_.allocated = value;
    } else if (key_ == "Total Reserved") {
      event_.reserved = value;
    } else if (key_ == "Device Type") {
      event_.device_type = value;
    } else if (key_ == "Device Id") {
      event_.device = value;
    }
  }

  int depth_ = 0;
  int outer_ = 1;  ///< objects around the list of events
  std::string key_;
  MemoryEvent event_;
  bool is_memory_ = false;
  std::map<std::int64_t, std::vector<MemoryEvent>> by_device_;
};

Bytes size_of(const MemoryEvent& event) {
  return Bytes{static_cast<std::uint64_t>(event.bytes < 0 ? -event.bytes : event.bytes)};
}

/// Makes requests of the events: blocks by their addresses.
class RequestsOfEvents {
 public:
  explicit RequestsOfEvents(std::span<const MemoryEvent> events) : events_(events) {
    trace_.stream_handles = {0};
    trace_.index_of(PoolId{});
  }

  ProfilerTrace make() {
    begin_with_older_blocks();
    for (const MemoryEvent& event : events_) {
      event.bytes >= 0 ? allocate(event.address, size_of(event)) : free(event.address);
    }
    return {std::move(trace_), profile()};
  }

 private:
  /// Those that the trace frees, and what else was allocated when it began, as one block.
  void begin_with_older_blocks() {
    boost::unordered_flat_map<std::uint64_t, bool> is_live;
    Bytes known;
    for (const MemoryEvent& event : events_) {
      if (event.bytes < 0 && !is_live[event.address]) {
        allocate(event.address, size_of(event));
        known += size_of(event);
      }
      is_live[event.address] = event.bytes >= 0;
    }
    const std::int64_t at_begin = events_.front().allocated - events_.front().bytes;
    if (at_begin > static_cast<std::int64_t>(known.count())) {
      older_ = Bytes{static_cast<std::uint64_t>(at_begin)} - known;
      add({.value = older_.count(), .allocation = next_id(), .kind = EventKind::alloc});
    }
  }

  void allocate(std::uint64_t address, Bytes size) {
    free(address);
    const AllocationId id = next_id();
    live_.insert_or_assign(address, id);
    add({.value = size.count(), .allocation = id, .kind = EventKind::alloc});
  }

  void free(std::uint64_t address) {
    if (const auto found = live_.find(address); found != live_.end()) {
      add({.allocation = found->second, .kind = EventKind::free});
      live_.erase(found);
    }
  }

  void add(Event event) {
    event.stream = StreamId(0U);
    trace_.events.push_back(event);
  }

  AllocationId next_id() { return AllocationId(trace_.allocation_count++); }

  [[nodiscard]] ProfiledRun profile() const {
    ProfiledRun run{.older = older_};
    for (const MemoryEvent& event : events_) {
      run.peak_allocated = std::max(run.peak_allocated, from_total(event.allocated));
      run.peak_reserved = std::max(run.peak_reserved, from_total(event.reserved));
    }
    return run;
  }

  static Bytes from_total(std::int64_t total) {
    return Bytes{static_cast<std::uint64_t>(std::max<std::int64_t>(total, 0))};
  }

  std::span<const MemoryEvent> events_;
  RequestTrace trace_;
  boost::unordered_flat_map<std::uint64_t, AllocationId> live_;
  Bytes older_;
};

}  // namespace

ProfilerTrace read_profiler_trace(ByteSource& source) {
  MemoryEvents collected;
  detail::JsonStream<MemoryEvents> stream(source, collected, kProfilerRemedy);
  while (stream.next()) {
  }
  const std::vector<MemoryEvent> events = collected.take();
  if (events.empty()) {
    throw InputError(source.name(), "traceEvents", "has no memory events of a CUDA device",
                     kProfilerRemedy);
  }
  return RequestsOfEvents(events).make();
}

bool looks_like_profiler_trace(std::span<const std::byte> first_bytes) {
  const std::string_view head(reinterpret_cast<const char*>(first_bytes.data()),
                              first_bytes.size());
  constexpr std::array<std::string_view, 4> kMarks{"\"traceEvents\"", "\"schemaVersion\"",
                                                   "\"displayTimeUnit\"", "\"ph\""};
  return std::ranges::any_of(
      kMarks, [&](std::string_view mark) { return head.find(mark) != std::string_view::npos; });
}

}  // namespace highwater
