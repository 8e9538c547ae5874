#include "tools/reports/replay_report.hpp"

#include <algorithm>
#include <array>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "allocator/settings/constants.hpp"
#include "tools/reports/edit_report.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

void add_usage(MetricList& list, const std::string& key, const std::string& label,
               const Usage& usage) {
  list.add(key + ".requested_bytes", label + " requested", usage.requested);
  list.add(key + ".allocated_bytes", label + " allocated", usage.allocated);
  list.add(key + ".active_bytes", label + " active", usage.active);
  list.add(key + ".reserved_bytes", label + " reserved", usage.reserved);
}

void add_counts(MetricList& list, const ReplayCounts& counts) {
  list.add("counts.allocs", "allocations", counts.allocs);
  list.add("counts.frees", "frees", counts.frees);
  list.add("counts.device_alloc", "device allocations", counts.device_alloc);
  list.add("counts.device_free", "device frees", counts.device_free);
  list.add("counts.segment_map", "ranges mapped", counts.segment_map);
  list.add("counts.segment_unmap", "ranges unmapped", counts.segment_unmap);
  list.add("counts.alloc_retries", "retries after releasing the cache", counts.alloc_retries);
  list.add("counts.ooms", "out of memory", counts.ooms);
}

void add_fragmentation(MetricList& list, const Fragmentation& f) {
  list.add("fragmentation.peak", "fragmentation (1 - peak active / peak reserved)", f.peak);
  list.add("fragmentation.at_peak_reserved", "unused share at peak reserved", f.at_peak_reserved);
  list.add("fragmentation.final_free_bytes", "free at the end", f.free);
  list.add("fragmentation.final_free_in_split_bytes", "  pinned in segments in use",
           f.free_in_split);
  list.add("fragmentation.final_free_whole_bytes", "  in whole free segments", f.free_whole);
  list.add("fragmentation.final_largest_free_block_bytes", "  largest free block",
           f.largest_free_block);
  list.add("fragmentation.final_rounding_bytes", "lost to rounding at the end", f.rounding);
  list.add("fragmentation.final_dispersion", "dispersion of free memory at the end", f.dispersion);
}

void add_fidelity(MetricList& list, const Fidelity& f) {
  list.add("fidelity.segment_events_recorded", "", f.segment_events_recorded);
  list.add("fidelity.segment_events_matched", "", f.segment_events_matched);
  list.add("fidelity.alloc_addresses_compared", "", f.alloc_addresses_compared);
  list.add("fidelity.alloc_addresses_matched", "", f.alloc_addresses_matched);
  list.add("fidelity.final_segments_compared", "", f.final_segments_compared);
  list.add("fidelity.final_segments_matched", "", f.final_segments_matched);
  list.add("fidelity.initial_blocks_doubtful", "older blocks of uncertain size",
           f.initial_blocks_doubtful);
  list.add("fidelity.resyncs", "corrections from the recording", f.resyncs);
  list.add("fidelity.snapshots_checked", "", f.snapshots_checked);
  list.add("fidelity.snapshots_matched", "", f.snapshots_matched);
  list.add("fidelity.peak_reserved_recorded_bytes", "peak reserved as recorded",
           f.peak_reserved_recorded);
}

/// Nothing is known about the device when neither the user nor a recording tells its capacity.
std::optional<Bytes> device_free(const DeviceReplay& replay, const OutOfMemory& oom) {
  return replay.capacity || replay.fidelity ? std::optional(oom.device_free) : std::nullopt;
}

std::optional<Bytes> allowed(const OutOfMemory& oom) {
  return oom.allowed == kUnlimited ? std::nullopt : std::optional(oom.allowed);
}

boost::json::value json_or_null(std::optional<Bytes> bytes) {
  return bytes ? boost::json::value(bytes->count()) : boost::json::value(nullptr);
}

boost::json::object pool_json(const PoolAccount& pool, const DeviceReplay& replay) {
  boost::json::object object;
  object["pool"] = pool.kind == PoolKind::small ? "small" : "large";
  object["owner"] = boost::json::array{pool.owner.capture, pool.owner.user};
  object["stream"] = replay.stream_handles[pool.stream.index()];
  object["reserved_bytes"] = pool.reserved.count();
  object["allocated_bytes"] = pool.allocated.count();
  object["pending_free_bytes"] = pool.pending_free.count();
  object["free_bytes"] = pool.free.count();
  object["largest_free_block_bytes"] = pool.largest_free_block.count();
  return object;
}

/// What stands in the way: the device's free memory, the limit of the process, or both.
std::string room(const DeviceReplay& replay, const OutOfMemory& oom) {
  std::string text;
  if (const auto free = device_free(replay, oom)) {
    text += fmt::format(", which has {} free", to_iec(*free));
  }
  if (const auto limit = allowed(oom)) {
    const Bytes more = *limit - std::min(*limit, oom.reserved);
    text += fmt::format("{} the memory limit allows {} more", text.empty() ? "," : ", and",
                        to_iec(more));
  }
  return text;
}

}  // namespace

boost::json::object oom_json(const OomRecord& record, const DeviceReplay& replay) {
  const OutOfMemory& oom = record.account;
  boost::json::object object;
  object["operation"] = record.operation;
  object["requested_bytes"] = oom.requested.count();
  object["rounded_bytes"] = oom.rounded.count();
  object["segment_bytes"] = oom.segment_size.count();
  object["device_free_bytes"] = json_or_null(device_free(replay, oom));
  object["allowed_bytes"] = json_or_null(allowed(oom));
  object["reserved_bytes"] = oom.reserved.count();
  object["allocated_bytes"] = oom.allocated.count();
  object["active_bytes"] = oom.active.count();
  object["largest_free_block_bytes"] = oom.largest_free_block.count();
  object["largest_usable_free_block_bytes"] = oom.largest_usable_free_block.count();
  boost::json::array& pools = object["pools"].emplace_array();
  for (const PoolAccount& pool : oom.pools) {
    pools.push_back(pool_json(pool, replay));
  }
  return object;
}

boost::json::object usage_bytes_json(const Usage& usage) {
  return {{"requested_bytes", usage.requested.count()},
          {"allocated_bytes", usage.allocated.count()},
          {"active_bytes", usage.active.count()},
          {"reserved_bytes", usage.reserved.count()}};
}

MetricList replay_metrics(const DeviceReplay& replay) {
  MetricList list;
  list.add("device", "", static_cast<std::uint64_t>(replay.device));
  add_usage(list, "peak", "peak", replay.result.peak);
  list.add("at_peak_reserved.allocated_bytes", "allocated at peak reserved",
           replay.result.at_peak_reserved.allocated);
  list.add("at_peak_reserved.active_bytes", "active at peak reserved",
           replay.result.at_peak_reserved.active);
  add_usage(list, "final", "final", replay.result.final);
  add_counts(list, replay.result.counts);
  list.add("counts.refused_empty_caches", "", replay.result.refused_empty_caches);
  add_fragmentation(list, replay.result.fragmentation);
  list.add("settings", "", to_conf(replay.settings));
  list.add("torch", "", std::string(replay.version->name));
  if (replay.torch_detected) {
    list.add("torch_detected", "", *replay.torch_detected);
  }
  list.add("capacity_bytes", "device capacity",
           replay.capacity ? MetricValue(*replay.capacity) : MetricValue());
  if (replay.memory_limit) {
    list.add("memory_limit_bytes", "memory limit", *replay.memory_limit);
  }
  if (replay.memory_fraction) {
    list.add("memory_fraction", "memory fraction", *replay.memory_fraction);
  }
  list.add("events.read", "", replay.events_read);
  list.add("events.replayed", "", replay.result.operations);
  list.add("events.repeated", "", replay.result.operations_repeated);
  list.add("events.dropped", "", replay.events_dropped);
  list.add("truncated", "", replay.truncated);
  if (replay.fidelity) {
    add_fidelity(list, *replay.fidelity);
  }
  return list;
}

boost::json::object replay_json(const DeviceReplay& replay) {
  boost::json::object object = to_json(replay_metrics(replay));
  if (replay.fidelity) {
    boost::json::value& first = object["fidelity"].as_object()["first_divergence"];
    if (replay.fidelity->first_divergence) {
      const Divergence& divergence = *replay.fidelity->first_divergence;
      first = {{"entry", divergence.entry}, {"description", valid_utf8(divergence.description)}};
    }
  }
  boost::json::array& ooms = object["ooms"].emplace_array();
  for (const OomRecord& record : replay.result.ooms) {
    ooms.push_back(oom_json(record, replay));
  }
  object["ooms_listed"] = replay.result.ooms.size();
  boost::json::array& notes = object["notes"].emplace_array();
  for (const std::string& note : replay_notes(replay)) {
    notes.emplace_back(valid_utf8(note));
  }
  if (!replay.result.decisions.empty()) {
    boost::json::array& decisions = object["decisions"].emplace_array();
    for (const auto& [operation, decision] : replay.result.decisions) {
      decisions.push_back({{"operation", operation},
                           {"action", to_string(decision.action)},
                           {"address", decision.address.value()},
                           {"bytes", decision.size.count()},
                           {"stream", replay.stream_handles[decision.stream.index()]}});
    }
  }
  return object;
}

boost::json::object budget_json(const BudgetVerdict& verdict) {
  return {{"is_kept", verdict.is_kept()}, {"exceeded", words_json(verdict.exceeded)}};
}

std::vector<std::string> replay_notes(const DeviceReplay& replay) {
  std::vector<std::string> notes =
      replay.edited ? edit_notes(*replay.edited) : std::vector<std::string>{};
  notes.insert(notes.end(), replay.notes.begin(), replay.notes.end());
  if (const std::uint64_t refused = replay.result.refused_empty_caches; refused > 0) {
    notes.push_back(fmt::format(
        "{} empty_cache {} inside a pool session: PyTorch {} asserts there, so nothing was "
        "released",
        refused, refused == 1 ? "call" : "calls", replay.version->name));
  }
  if (const std::uint64_t repeated = replay.result.operations_repeated; repeated > 0) {
    notes.push_back(fmt::format(
        "{} of {} operations repeat a step before them, with the same requests in the same state "
        "of the allocator: they were counted, with the same result as if carried out",
        repeated, replay.result.operations));
  }
  return notes;
}

boost::json::object timeline_json(const Timeline& timeline) {
  constexpr std::array<std::string_view, kCurveCount> kNames{"requested", "allocated", "active",
                                                             "reserved"};
  boost::json::object object{{"operations_per_bucket", timeline.operations_per_bucket()}};
  const std::vector<TimelineBucket> buckets = timeline.buckets();
  for (std::size_t c = 0; c < kCurveCount; ++c) {
    boost::json::array low;
    boost::json::array high;
    for (const TimelineBucket& bucket : buckets) {
      low.push_back(bucket.low[c].count());
      high.push_back(bucket.high[c].count());
    }
    object[kNames[c]] = {{"low", std::move(low)}, {"high", std::move(high)}};
  }
  return object;
}

std::string describe_ooms(const DeviceReplay& replay) {
  std::string text;
  for (const OomRecord& record : replay.result.ooms) {
    const OutOfMemory& oom = record.account;
    text += fmt::format(
        "out of memory at operation {}: requested {}, needs {} from the device{}; reserved {}, "
        "allocated {}, largest free block {} (usable here: {})\n",
        record.operation, to_iec(oom.requested), to_iec(oom.segment_size), room(replay, oom),
        to_iec(oom.reserved), to_iec(oom.allocated), to_iec(oom.largest_free_block),
        to_iec(oom.largest_usable_free_block));
  }
  const std::uint64_t more = replay.result.counts.ooms - replay.result.ooms.size();
  if (replay.result.counts.ooms > replay.result.ooms.size()) {
    text += fmt::format("and {} more\n", more);
  }
  return text;
}

std::string decision_lines(const DeviceReplay& replay) {
  std::string text;
  for (const NumberedDecision& decision : replay.result.decisions) {
    text += decision_line(decision, replay.stream_handles) + "\n";
  }
  return text;
}

}  // namespace highwater
