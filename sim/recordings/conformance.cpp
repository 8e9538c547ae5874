#include "sim/recordings/conformance.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "allocator/simulated_device.hpp"
#include "sim/replay/decision_log.hpp"
#include "sim/replay/trace_driver.hpp"

namespace highwater {
namespace {

std::string allocation_line(const RequestTrace& trace, const Event& event, AllocationStatus status,
                            BlockId handle, const CachingAllocator& allocator) {
  const std::string name = trace.allocation_names.empty()
                               ? std::to_string(event.allocation.value())
                               : trace.allocation_names[event.allocation.index()];
  switch (status) {
    case AllocationStatus::out_of_memory:
      return name + " OOM 0 0";
    case AllocationStatus::no_block:
      return name + " 0x0 0x0 0";
    case AllocationStatus::ok:
      break;
  }
  const Block& block = allocator.block(handle);
  return fmt::format("{} {:#x} {:#x} {}", name, block.address.value(),
                     allocator.segment_start(handle).value(), block.size.count());
}

std::string stat_line(std::string_view name, const StatValue& value) {
  return fmt::format("stat {} {} {} {} {}", name, value.current, value.peak, value.allocated,
                     value.freed);
}

void append_statistics(const Statistics& stats, std::vector<std::string>& lines) {
  for (std::size_t i = 0; i < kStatCount; ++i) {
    const auto stat = static_cast<Stat>(i);
    const std::string name(to_string(stat));
    lines.push_back(stat_line(name + ".all", stats.all(stat)));
    lines.push_back(stat_line(name + ".small_pool", stats.of(stat, PoolKind::small)));
    lines.push_back(stat_line(name + ".large_pool", stats.of(stat, PoolKind::large)));
  }
  lines.push_back(stat_line("oversize_allocations", stats.oversize_allocations));
  lines.push_back(stat_line("oversize_segments", stats.oversize_segments));
}

void append_counters(const Counters& counters, const Settings& at_start,
                     std::vector<std::string>& lines) {
  const auto line = [&](std::string_view name, std::int64_t value) {
    lines.push_back(fmt::format("counter {} {}", name, value));
  };
  line("num_alloc_retries", counters.num_alloc_retries);
  line("num_ooms", counters.num_ooms);
  line("num_sync_all_streams", counters.num_sync_all_streams);
  line("num_device_alloc", counters.num_device_alloc);
  line("num_device_free", counters.num_device_free);
  line("max_split_size", static_cast<std::int64_t>(at_start.max_split_size.count()));
}

void append_segment(const MapSegment& segment, std::uint64_t stream,
                    std::vector<std::string>& lines) {
  Bytes allocated;
  Bytes active;
  Bytes requested;
  for (const MapBlock& block : segment.blocks) {
    if (block.state != BlockState::inactive) {
      active += block.size;
      requested += block.requested;
    }
    if (block.state == BlockState::active_allocated) {
      allocated += block.size;
    }
  }
  lines.push_back(fmt::format(
      "segment {:#x} {} {} {} {} {} {} {} {},{}", segment.address.value(), segment.size.count(),
      allocated.count(), active.count(), requested.count(), stream,
      segment.kind == PoolKind::small ? "small" : "large",
      segment.is_expandable ? "expandable" : "fixed", segment.owner.capture, segment.owner.user));
  for (const MapBlock& block : segment.blocks) {
    lines.push_back(fmt::format("block {:#x} {} {} {}", block.address.value(), block.size.count(),
                                block.requested.count(), to_string(block.state)));
  }
}

/// "OP ACTION", the part of an event line that decides whether neighbours may change places; empty
/// where the order is fixed.
std::string_view exchangeable(std::string_view line) {
  const std::size_t op = line.find(' ');
  const std::size_t action = op == std::string_view::npos ? op : line.find(' ', op + 1);
  if (action == std::string_view::npos) {
    return {};
  }
  const std::string_view word = line.substr(op + 1, action - op - 1);
  const bool open = word == "free_completed" || word == "segment_free" || word == "segment_unmap";
  return open ? line.substr(0, word == "free_completed" ? action : op + 9) : std::string_view{};
}

}  // namespace

ConformanceOutput run_conformance(const RequestTrace& trace, const VersionPreset& version) {
  ConformanceOutput output;
  SimulatedDevice device({trace.header.capacity, trace.header.addresses});
  const Settings settings = parse_settings(trace.header.settings, version);
  CachingAllocator allocator(device, settings, version);
  if (trace.header.fraction) {
    allocator.set_memory_fraction(*trace.header.fraction);
  }
  TraceDriver driver(trace, allocator);
  DecisionLog log(driver);
  allocator.set_listener(&log);
  for (const Event& event : trace.events) {
    const AllocationStatus status = driver.apply(event);
    if (event.kind == EventKind::alloc) {
      output.expected.push_back(
          allocation_line(trace, event, status, driver.handle(event.allocation), allocator));
    }
  }
  for (const NumberedDecision& decision : log.take()) {
    output.events.push_back(decision_line(decision, trace.stream_handles));
  }
  output.expected.emplace_back("end");
  append_statistics(allocator.statistics(), output.expected);
  append_counters(allocator.statistics().counters, settings, output.expected);
  output.expected.push_back(fmt::format("device {} {} {}", device.total_memory().count(),
                                        device.used().count(), device.peak_used().count()));
  for (const MapSegment& segment : allocator.memory_map().segments) {
    append_segment(segment, trace.stream_handles[segment.stream.index()], output.expected);
  }
  return output;
}

std::vector<std::string> normalised_events(std::vector<std::string> lines) {
  for (auto begin = lines.begin(); begin != lines.end();) {
    const std::string_view key = exchangeable(*begin);
    auto end = begin + 1;
    while (!key.empty() && end != lines.end() && exchangeable(*end) == key) {
      ++end;
    }
    std::sort(begin, end);
    begin = end;
  }
  return lines;
}

std::optional<LineDifference> first_difference(const std::vector<std::string>& expected,
                                               const std::vector<std::string>& actual) {
  const auto [left, right] = std::ranges::mismatch(expected, actual);
  if (left == expected.end() && right == actual.end()) {
    return std::nullopt;
  }
  const auto line = static_cast<std::size_t>(left - expected.begin()) + 1;
  return LineDifference{line, left == expected.end() ? "" : *left,
                        right == actual.end() ? "" : *right};
}

}  // namespace highwater
