#include "tools/html/report_maps.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "sim/peak/segment_rows.hpp"
#include "tools/html/report_frames.hpp"
#include "tools/text/safe_text.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

std::int64_t signed_count(Bytes bytes) {
  return static_cast<std::int64_t>(bytes.count());
}

std::string_view word(MomentKind kind) {
  constexpr std::array<std::string_view, 6> kWords{
      "peak_reserved", "peak_allocated", "most_fragmented", "end", "out_of_memory", "step_end"};
  return kWords[static_cast<std::size_t>(kind)];
}

json::object sums_json(const SegmentSums& sums) {
  return {{"segments", sums.segments},
          {"size", sums.size.count()},
          {"active", sums.active.count()},
          {"pending", sums.pending.count()},
          {"free", sums.free.count()}};
}

/// Pool, stream and what else names a group of segments.
template <class Group>
void describe_pool(const Group& group, const ReportRun& run, json::object& object) {
  object["pool"] = group.kind == PoolKind::small ? "small" : "large";
  object["stream"] = run.explained.workload.replay.stream_handles[group.stream.index()];
  if (!group.owner.is_default()) {
    object["owner"] = fmt::format("{},{}", group.owner.capture, group.owner.user);
  }
}

/// [kind, size, requested or used, site, blocks]; what is at its default at the end is left out.
json::array cell_json(const MapCell& cell, ReportSites& sites) {
  json::array entry{static_cast<int>(cell.kind), cell.size.count()};
  if (cell.kind == CellKind::free && cell.blocks == 1) {
    return entry;
  }
  entry.emplace_back(cell.blocks == 1 ? cell.requested.count() : cell.used.count());
  entry.emplace_back(sites.of(cell.owner));
  if (cell.blocks > 1) {
    entry.emplace_back(cell.blocks);
  }
  return entry;
}

json::object map_json(const MemoryState& state, const ReportRun& run, ReportSites& sites) {
  const SegmentRows view = segment_rows(state.map, state.owners);
  json::array rows;
  for (const SegmentRow& row : view.rows) {
    json::object object = sums_json(row.sums);
    object["address"] = fmt::format("{:#x}", row.address.value());
    describe_pool(row, run, object);
    object["expandable"] = row.is_expandable;
    object["largest_free"] = row.largest_free_block.count();
    json::array& cells = object["cells"].emplace_array();
    for (const MapCell& cell : row.cells) {
      cells.push_back(cell_json(cell, sites));
    }
    rows.push_back(std::move(object));
  }
  json::array rests;
  for (const SegmentRest& rest : view.rests) {
    json::object object = sums_json(rest.sums);
    describe_pool(rest, run, object);
    rests.push_back(std::move(object));
  }
  return {{"rows", std::move(rows)}, {"rests", std::move(rests)}};
}

json::object moment_json(const Moment& moment, const MemoryState& state, const ReportRun& run,
                         ReportSites& sites) {
  json::object object{{"kinds", json::array{word(moment.kind)}},
                      {"operation", moment.operation()},
                      {"usage", usage_json(moment.usage)}};
  if (moment.step) {
    object["step"] = *moment.step;
  }
  if (moment.phase.has_value()) {
    object["phase"] =
        shortened(std::string(run.explained.workload.trace->tables.strings[moment.phase]), 60);
  }
  object["map"] = map_json(state, run, sites);
  return object;
}

json::array node_json(const StackNode& node, FrameNames& names) {
  json::array entry{names.of(node.frame), node.value};
  if (!node.children.empty() || node.joined > 0) {
    json::array children;
    for (const StackNode& child : node.children) {
      children.push_back(node_json(child, names));
    }
    entry.push_back(std::move(children));
  }
  if (node.joined > 0) {
    entry.emplace_back(node.joined);
  }
  return entry;
}

}  // namespace

json::object usage_json(const Usage& usage) {
  return {{"requested", usage.requested.count()},
          {"allocated", usage.allocated.count()},
          {"active", usage.active.count()},
          {"reserved", usage.reserved.count()}};
}

json::object curves_json(const Timeline& timeline) {
  constexpr std::array<std::string_view, kCurveCount> kNames{"requested", "allocated", "active",
                                                             "reserved"};
  json::object object{{"operations_per_bucket", timeline.operations_per_bucket()}};
  const std::vector<TimelineBucket> buckets = timeline.buckets();
  for (std::size_t c = 0; c < kCurveCount; ++c) {
    json::array high;
    json::array low;
    Bytes before;
    for (const TimelineBucket& bucket : buckets) {
      high.push_back(signed_count(bucket.high[c]) - signed_count(before));
      low.push_back((bucket.high[c] - bucket.low[c]).count());
      before = bucket.high[c];
    }
    object[kNames[c]] = {{"high", std::move(high)}, {"low", std::move(low)}};
  }
  return object;
}

json::array moments_json(const ReportRun& run, ReportSites& sites) {
  json::array list;
  const std::vector<Moment>& moments = run.history.moments;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    if (i > 0 && moments[i - 1].state == moments[i].state) {
      list.back().as_object()["kinds"].as_array().emplace_back(word(moments[i].kind));
    } else {
      list.push_back(moment_json(moments[i], run.states[i], run, sites));
    }
  }
  return list;
}

json::object flame_json(const SideTables& tables, const StackValues& values) {
  const StackTree tree = stack_tree(tables, values);
  FrameNames names(tables);
  json::object object{{"root", node_json(tree.root, names)}};
  json::array& common = object["common"].emplace_array();
  for (const FrameId frame : tree.common) {
    common.push_back(names.of(frame));
  }
  object["frames"] = names.take();
  return object;
}

}  // namespace highwater
