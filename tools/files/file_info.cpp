#include "tools/files/file_info.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "sim/peak/live_blocks.hpp"
#include "sim/recordings/fidelity.hpp"
#include "sim/recordings/recorded_requests.hpp"
#include "sim/recordings/recorded_settings.hpp"
#include "sim/recordings/viewer_curve.hpp"
#include "tools/files/viewer_words.hpp"
#include "tools/text/site_label.hpp"
#include "traces/allocator_notes.hpp"
#include "traces/error.hpp"

namespace highwater {
namespace {

std::vector<SiteHolding> top_sites(const LiveMemory& live, const SideTables& tables,
                                   std::size_t top) {
  // Several stacks can share a label; people count them together.
  std::vector<SiteHolding> sites;
  std::unordered_map<std::string, std::size_t> rows;
  for (const StackHolder& holder : live.holders) {
    const auto [row, is_new] = rows.try_emplace(site_label(tables, holder.origin), sites.size());
    if (is_new) {
      sites.push_back({row->first, Bytes{}, 0, 0});
    }
    sites[row->second].bytes += holder.held;
    sites[row->second].blocks += holder.blocks;
  }
  std::ranges::stable_sort(sites, std::ranges::greater{}, &SiteHolding::bytes);
  sites.resize(std::min(sites.size(), top));
  for (SiteHolding& site : sites) {
    site.share = static_cast<double>(site.bytes.count()) /
                 static_cast<double>(std::max<std::uint64_t>(live.total.count(), 1));
  }
  return sites;
}

void add_peak(MetricList& list, const LiveMemory& live) {
  list.add("peak_live_requested_bytes", "peak of live requested bytes", live.total);
  list.add("peak_live_blocks", "blocks live at that moment", live.blocks);
  list.add("peak_event", "", live.at);
}

void add_actions(MetricList& list, const RecordedDevice& device) {
  for (std::size_t a = 0; a < kRecordedActionCount; ++a) {
    const auto action = static_cast<RecordedAction>(a);
    if (device.action_counts.at(a) != 0 && action != RecordedAction::ignored) {
      const std::string name(to_string(action));
      list.add("actions." + name, "  " + name, device.action_counts.at(a));
    }
  }
  for (const auto& [name, count] : device.unknown_actions) {
    list.add("ignored_actions." + name, "  " + name + " (ignored)", count);
  }
}

std::string stream_list(const std::vector<std::uint64_t>& handles) {
  std::string text;
  for (const std::uint64_t handle : handles) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", handle);
  }
  return text;
}

void add_final_state(MetricList& list, const RecordedDevice& device) {
  Bytes reserved;
  Bytes allocated;
  Bytes active;
  std::uint64_t expandable = 0;
  std::uint64_t private_pool = 0;
  for (const RecordedSegment& segment : device.segments) {
    reserved += segment.size;
    expandable += segment.is_expandable ? 1U : 0U;
    private_pool += segment.pool.is_default() ? 0U : 1U;
    for (const RecordedBlock& block : segment.blocks) {
      active += block.state == BlockState::inactive ? Bytes{} : block.size;
      allocated += block.state == BlockState::active_allocated ? block.size : Bytes{};
    }
  }
  list.add("final.segments", "segments at the end",
           static_cast<std::uint64_t>(device.segments.size()));
  list.add("final.expandable_segments", "  of them expandable", expandable);
  list.add("final.private_pool_segments", "  of them in private pools", private_pool);
  list.add("final.reserved_bytes", "reserved at the end", reserved);
  list.add("final.allocated_bytes", "allocated at the end", allocated);
  list.add("final.active_bytes", "active at the end", active);
  list.add("peak_reserved_bytes", "peak reserved", recorded_peak_reserved(device));
}

// The replay comes first: the requests are taken out of what it is given.
void add_viewer(InfoSection& section, const Recording& recording, const RecordedDevice& device,
                const DerivedTrace& derived, const Settings& settings) {
  const ViewerCurve curve = viewer_curve(device);
  const Usage peak =
      replay_as_recorded(device, derived, settings, preset_of(recording)).result.peak;
  section.viewer = viewer_words(curve, peak, recording.writer);
  MetricList& list = section.metrics;
  list.add("viewer.peak_bytes", "peak that memory_viz draws", curve.peak);
  list.add("viewer.peak_entry", "", curve.entries_to_peak);
  list.add("viewer.older_blocks", "", curve.older_blocks);
  list.add("viewer.older_bytes", "", curve.older);
  list.add("viewer.older_in_use_bytes", "", curve.older_in_use);
  list.add("viewer.left_out_bytes", "", curve.left_out);
  list.add("viewer.max_memory_allocated", "  max_memory_allocated of its replay", peak.allocated);
  list.add("viewer.max_memory_reserved", "  max_memory_reserved of its replay", peak.reserved);
  list.add("viewer.meaning", "", section.viewer);
}

void add_span(MetricList& list, const RecordedDevice& device) {
  if (!device.entries.empty() && device.entries[0].time_us >= 0) {
    const std::int64_t span = device.entries.back().time_us - device.entries[0].time_us;
    list.add("span_seconds", "seconds from first to last entry", static_cast<double>(span) * 1e-6);
  }
}

InfoSection describe_device(const Recording& recording, const RecordedDevice& device,
                            const Settings& settings, std::size_t top) {
  InfoSection section;
  MetricList& list = section.metrics;
  list.title = fmt::format("Device {}", device.index);
  DerivedTrace derived = derive_requests(recording, device, settings);
  list.add("device", "", static_cast<std::uint64_t>(device.index));
  list.add("entries", "trace entries", static_cast<std::uint64_t>(device.entries.size()));
  add_actions(list, device);
  add_span(list, device);
  list.add("streams", "streams (raw handles)", stream_list(device.stream_handles));
  list.add("complete", "complete from an empty allocator", !derived.report.truncated);
  list.add("initial_blocks", "blocks older than the recording", derived.report.initial_blocks);
  list.add("initial_blocks_doubtful", "  of them of uncertain size",
           derived.report.initial_blocks_doubtful);
  list.add("failed_requests", "requests that ran out of memory", derived.report.failed_requests);
  list.add("deferred_frees", "frees that waited for other streams", derived.report.deferred_frees);
  add_viewer(section, recording, device, derived, settings);
  const LiveMemory live =
      live_at_peak(take_recorded_requests(derived, {}, FailedRequests::left_out));
  add_peak(list, live);
  add_final_state(list, device);
  section.top_sites = top_sites(live, recording.tables, top);
  section.notes = derived.report.problems;
  if (device.entries.size() <= 1) {
    section.notes.emplace_back("no history was recorded: the file tells the final state only");
  }
  return section;
}

FileInfo describe_recording(const Recording& recording, const std::string& name, std::size_t top) {
  FileInfo info;
  info.name = name;
  info.metrics.title = name;
  MetricList& list = info.metrics;
  list.add("kind", "kind", std::string("recording"));
  list.add("torch_detected", "written by PyTorch", to_string(recording.writer));
  const VersionPreset& version = preset_of(recording);
  list.add("torch", "nearest version preset", std::string(version.name));
  Settings settings;
  try {
    settings = settings_of(recording, version);
    const std::string conf = to_conf(settings);
    list.add(
        "settings", "settings",
        recording.settings ? (conf.empty() ? "default" : conf) : "not recorded (default assumed)");
  } catch (const SettingsError& error) {
    settings = settings_from_fields(recording);
    list.add("settings", "settings",
             fmt::format("not understood: '{}': {}", recording.settings->conf, error.what()));
  }
  for (const RecordedDevice& device : recording.devices) {
    info.sections.push_back(describe_device(recording, device, settings, top));
  }
  list.add("devices", "devices with activity",
           static_cast<std::uint64_t>(recording.devices.size()));
  const auto ranges = std::ranges::count_if(
      recording.annotations, [](const Annotation& each) { return !allocator_note(each.name); });
  list.add("annotations", "profiler annotations", static_cast<std::uint64_t>(ranges));
  for (const auto& [key, count] : recording.unknown_keys) {
    list.add("unknown_keys." + key, "unknown key " + key, count);
  }
  return info;
}

FileInfo describe_requests(const RequestTrace& trace, const std::string& name, std::size_t top) {
  FileInfo info;
  info.name = name;
  info.metrics.title = name;
  info.metrics.add("kind", "kind", std::string("request trace"));
  info.metrics.add("settings", "settings",
                   trace.header.settings.empty() ? std::string("default") : trace.header.settings);
  info.metrics.add("capacity_bytes", "device capacity",
                   trace.header.capacity ? MetricValue(*trace.header.capacity) : MetricValue());
  info.metrics.add(
      "torch", "PyTorch release",
      trace.header.torch ? MetricValue(to_string(*trace.header.torch)) : MetricValue());
  std::uint64_t frees = 0;
  for (const Event& event : trace.events) {
    frees += event.kind == EventKind::free ? 1U : 0U;
  }
  InfoSection section;
  MetricList& list = section.metrics;
  list.title = "Requests";
  list.add("events", "events", static_cast<std::uint64_t>(trace.events.size()));
  list.add("allocations", "allocations", static_cast<std::uint64_t>(trace.allocation_count));
  list.add("frees", "frees", frees);
  list.add("streams", "streams (raw handles)", stream_list(trace.stream_handles));
  list.add("private_pools", "private pools", static_cast<std::uint64_t>(trace.pools.size()));
  const LiveMemory live = live_at_peak(trace);
  add_peak(list, live);
  section.top_sites = top_sites(live, trace.tables, top);
  info.sections.push_back(std::move(section));
  return info;
}

}  // namespace

FileInfo describe_file(const TraceFile& file, const std::string& name, std::size_t top) {
  if (const auto* recording = std::get_if<Recording>(&file)) {
    return describe_recording(*recording, name, top);
  }
  return describe_requests(std::get<RequestTrace>(file), name, top);
}

}  // namespace highwater
