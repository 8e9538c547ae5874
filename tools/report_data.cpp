#include "tools/report_data.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "allocator/constants.hpp"
#include "tools/metrics.hpp"
#include "tools/replay_report.hpp"
#include "tools/report_maps.hpp"
#include "tools/report_sites.hpp"
#include "tools/safe_text.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// How many sites a table lists; the rest is summed.
constexpr std::size_t kSitesShown = 25;

std::string_view word(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::fits:
      return "fits";
    case RunOutcome::out_of_memory:
      return "out_of_memory";
    case RunOutcome::unlimited:
      break;
  }
  return "unlimited";
}

json::object level(std::string_view key, std::string_view label, Bytes bytes,
                   std::string_view meaning) {
  return {{"key", key}, {"label", label}, {"bytes", bytes.count()}, {"meaning", meaning}};
}

json::array bounds_json(const ReportRun& run) {
  const LowerBound& bound = run.bars.bound;
  json::array list;
  list.push_back(level("live", "max live", bound.live,
                       "the most bytes asked for at once: no allocator can do with less"));
  list.push_back(level("packed", "packed", bound.packed,
                       "the same blocks placed by an offline packing that knows the future"));
  return list;
}

json::object bar(std::string_view kind, std::string_view label, Bytes bytes, bool ran_out = false) {
  return {{"kind", kind}, {"label", label}, {"bytes", bytes.count()}, {"ran_out", ran_out}};
}

json::array bars_json(const ReportRun& run) {
  const FourBars& bars = run.bars;
  json::array list;
  list.push_back(bar("bound", "max live", bars.bound.live));
  list.push_back(bar("bound", "packed offline", bars.bound.packed));
  list.push_back(bar("", "expandable segments", bars.expandable.reserved, bars.expandable.ran_out));
  list.push_back(bar("", "default settings", bars.standard.reserved, bars.standard.ran_out));
  list.push_back(bar("own", "this run", run.subject.replay.result.peak.reserved,
                     run.outcome == RunOutcome::out_of_memory));
  return list;
}

std::string bars_about(const ReportRun& run) {
  const FourBars& bars = run.bars;
  const Bytes peak = run.subject.replay.result.peak.reserved;
  const std::string gap =
      bars.bound.gap() > 0
          ? fmt::format("at most {:.2f} % above the best possible", 100 * bars.bound.gap())
          : std::string("the best possible");
  const std::string win = run.outcome == RunOutcome::out_of_memory
                              ? "This run was cut off when memory ran out, so its peak says little."
                              : fmt::format("No settings can win more than {} over this run.",
                                            to_iec(peak - std::min(peak, bars.bound.live_rounded)));
  return fmt::format(
      "Peaks of reserved memory under the same limit. {} The packing of the same blocks is {}; it "
      "knows the future and ignores streams and pools.",
      win, gap);
}

json::array marks_json(const MemoryHistory& history) {
  constexpr std::array<std::string_view, kMarkKinds> kWords{"out_of_memory", "retry",
                                                            "empty_cache"};
  json::array list;
  for (const HistoryMark& mark : history.marks) {
    list.push_back(json::array{kWords[static_cast<std::size_t>(mark.kind)], mark.operation,
                               mark.bytes.count()});
  }
  return list;
}

json::object mark_counts_json(const MemoryHistory& history) {
  return {{"out_of_memory", history.mark_counts[0]},
          {"retry", history.mark_counts[1]},
          {"empty_cache", history.mark_counts[2]}};
}

json::array steps_json(const MemoryHistory& history) {
  json::array list;
  for (const StretchBegin& begin : history.steps) {
    list.push_back(json::array{begin.operation, begin.step});
  }
  return list;
}

json::array phases_json(const MemoryHistory& history, const SideTables& tables) {
  json::array list;
  for (const StretchBegin& begin : history.phases) {
    list.push_back(
        json::array{begin.operation, shortened(std::string(tables.strings[begin.phase]), 60)});
  }
  return list;
}

/// One row of the table of sites, and what its stacks sum to.
struct SiteSum {
  std::int64_t site = -1;
  Bytes bytes;
  std::uint64_t blocks = 0;
};

std::vector<SiteSum> largest_first(const std::map<std::int64_t, SiteSum>& by_site) {
  std::vector<SiteSum> sums;
  for (const auto& [site, sum] : by_site) {
    sums.push_back(sum);
  }
  std::ranges::stable_sort(sums, std::ranges::greater{}, &SiteSum::bytes);
  return sums;
}

/// Who holds the allocated bytes of one moment, and the same by stack.
struct Holders {
  std::vector<SiteSum> sites;
  StackValues stacks;
};

Holders holders_at(const KeyMoment& moment, const ReportRun& run, ReportSites& sites) {
  std::map<std::int64_t, SiteSum> by_site;
  std::map<StackId, std::uint64_t> by_stack;
  std::size_t i = 0;
  for (const MapSegment& segment : moment.map.segments) {
    for (const MapBlock& block : segment.blocks) {
      const AllocationId owner = moment.owners[i++];
      if (block.state != BlockState::active_allocated) {
        continue;
      }
      const StackId stack = owner.has_value() && owner.index() < run.stacks.size()
                                ? run.stacks[owner.index()]
                                : StackId::none();
      by_stack[stack] += block.size.count();
      const std::int64_t site = sites.of(stack);
      SiteSum& sum = by_site[site];
      sum.site = site;
      sum.bytes += block.size;
      ++sum.blocks;
    }
  }
  return {largest_first(by_site), {by_stack.begin(), by_stack.end()}};
}

json::object holders_json(const Holders& holders) {
  json::array rows;
  SiteSum rest;
  std::uint64_t rest_sites = 0;
  for (const SiteSum& sum : holders.sites) {
    if (rows.size() < kSitesShown) {
      rows.push_back(json::array{sum.site, sum.bytes.count(), sum.blocks});
    } else {
      rest.bytes += sum.bytes;
      rest.blocks += sum.blocks;
      ++rest_sites;
    }
  }
  return {{"rows", std::move(rows)},
          {"rest", json::array{rest_sites, rest.bytes.count(), rest.blocks}}};
}

const KeyMoment* moment_of(const MemoryHistory& history, MomentKind kind) {
  const auto found = std::ranges::find(history.moments, kind, &KeyMoment::kind);
  return found == history.moments.end() ? nullptr : &*found;
}

json::object blame_json(const Blame& blame, ReportSites& sites) {
  struct Row {
    std::int64_t site = -1;
    std::uint64_t byte_operations = 0;
    Bytes pinned;
    Bytes active;
    std::uint64_t blocks = 0;
  };

  std::map<std::int64_t, Row> by_site;
  for (const BlameShare& share : blame.stacks) {
    Row& row = by_site[sites.of(share.stack)];
    row.site = sites.of(share.stack);
    row.byte_operations += share.byte_operations;
    row.pinned += share.pinned;
    row.active += share.active;
    row.blocks += share.pinning_blocks;
  }
  std::vector<Row> rows;
  for (const auto& [site, row] : by_site) {
    rows.push_back(row);
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, &Row::byte_operations);
  json::array list;
  Row rest;
  std::uint64_t rest_sites = 0;
  const std::uint64_t operations = std::max<std::uint64_t>(blame.operations, 1);
  for (const Row& row : rows) {
    if (list.size() < kSitesShown) {
      list.push_back(json::array{row.site, row.byte_operations / operations, row.pinned.count(),
                                 row.active.count(), row.blocks});
    } else {
      rest.byte_operations += row.byte_operations;
      rest.pinned += row.pinned;
      rest.active += row.active;
      rest.blocks += row.blocks;
      ++rest_sites;
    }
  }
  return {{"rows", std::move(list)},
          {"rest", json::array{rest_sites, rest.byte_operations / operations, rest.pinned.count(),
                               rest.active.count(), rest.blocks}},
          {"average", blame.average_pinned().count()},
          {"pinned", blame.pinned.count()},
          {"unused", blame.unused.count()}};
}

StackValues average_by_stack(const Blame& blame) {
  StackValues values;
  const std::uint64_t operations = std::max<std::uint64_t>(blame.operations, 1);
  for (const BlameShare& share : blame.stacks) {
    if (share.byte_operations >= operations) {
      values.emplace_back(share.stack, share.byte_operations / operations);
    }
  }
  return values;
}

json::object named_flame(std::string_view id, std::string_view title, std::string_view note,
                         const SideTables& tables, const StackValues& values) {
  json::object flame = flame_json(tables, values);
  flame["id"] = id;
  flame["title"] = title;
  flame["note"] = note;
  return flame;
}

json::array figure(std::string_view label, Bytes bytes, std::string_view note = "") {
  return {label, bytes.count(), note};
}

json::array figures_json(const ReportRun& run) {
  const ReplayResult& result = run.subject.replay.result;
  const Bytes never = result.peak.reserved - std::min(result.peak.reserved, result.peak.active);
  json::array list;
  list.push_back(figure("peak reserved", result.peak.reserved, "taken from the device"));
  list.push_back(figure("peak allocated", result.peak.allocated, "in blocks handed out"));
  list.push_back(figure(
      "fragmentation", never,
      fmt::format("{:.1f} % of reserved, above peak active", 100 * result.fragmentation.peak)));
  if (run.available) {
    list.push_back(figure("limit", *run.available, "what the allocator could take"));
  }
  return list;
}

json::array counts_json(const ReplayCounts& counts) {
  const auto entry = [](std::string_view label, std::uint64_t n) { return json::array{label, n}; };
  return {entry("allocations", counts.allocs),
          entry("frees", counts.frees),
          entry("device allocations", counts.device_alloc),
          entry("device frees", counts.device_free),
          entry("retries", counts.alloc_retries),
          entry("out of memory", counts.ooms)};
}

std::string size_or(Bytes size, Bytes unlimited, std::string_view words) {
  return size == unlimited ? std::string(words) : to_iec(size);
}

std::string divisions_text(const Settings& settings) {
  std::string text;
  for (std::size_t i = 0; i < settings.roundup_power2_divisions.size(); ++i) {
    const std::uint64_t n = settings.roundup_power2_divisions[i];
    const bool repeats = i > 0 && settings.roundup_power2_divisions[i - 1] == n;
    if (n != 0 && !repeats) {
      text += fmt::format("{}{} from {} MiB", text.empty() ? "" : ", ", n, 1U << i);
    }
  }
  return text.empty() ? "off" : text;
}

std::string on_off(bool on) {
  return on ? "on" : "off";
}

json::array setting(std::string_view name, const std::string& value, const std::string& usual) {
  return {name, value, usual, value != usual};
}

json::array settings_json(const Settings& settings) {
  const Settings usual;
  const auto threshold = [](double share) {
    return share > 0 ? fmt::format("{}", share) : std::string("off");
  };
  return {
      setting("expandable_segments", on_off(settings.expandable_segments),
              on_off(usual.expandable_segments)),
      setting("max_split_size_mb", size_or(settings.max_split_size, kUnlimited, "unlimited"),
              "unlimited"),
      setting("max_non_split_rounding_mb", to_iec(settings.max_non_split_rounding_size),
              to_iec(usual.max_non_split_rounding_size)),
      setting("roundup_power2_divisions", divisions_text(settings), "off"),
      setting("garbage_collection_threshold", threshold(settings.garbage_collection_threshold),
              "off"),
      setting("large_segment_size_mb", to_iec(settings.large_segment_size),
              to_iec(usual.large_segment_size)),
  };
}

json::array notes_json(const ReportRun& run) {
  json::array list;
  for (const std::string& note : run.notes) {
    list.emplace_back(shortened(note, 1000));
  }
  for (const std::string& note : replay_notes(run.subject.replay)) {
    list.emplace_back(shortened(note, 1000));
  }
  return list;
}

json::array flames_json(const ReportRun& run, const Holders& holders) {
  const SideTables& tables = run.subject.trace->tables;
  json::array list;
  list.push_back(named_flame("live", "allocated at the peak",
                             "Allocated bytes by call stack at the highest allocated.", tables,
                             holders.stacks));
  list.push_back(named_flame("pinned", "free memory pinned",
                             "Free bytes that live blocks keep from being given back, by the call "
                             "stacks of those blocks, averaged over the run.",
                             tables, average_by_stack(run.blame)));
  return list;
}

}  // namespace

json::object report_json(const ReportRun& run) {
  ReportSites sites(run);
  json::object root{{"schema", "highwater.report/1"},
                    {"title", shortened(run.title)},
                    {"plan", run.subject.is_plan()},
                    {"device", run.subject.replay.device},
                    {"outcome", word(run.outcome)},
                    {"verdict", shortened(run.verdict, 600)},
                    {"trust", shortened(run.subject.trust(), 1000)}};
  root["figures"] = figures_json(run);
  root["counts"] = counts_json(run.subject.replay.result.counts);
  root["available"] = run.available ? json::value(run.available->count()) : json::value(nullptr);
  root["peaks"] = usage_json(run.subject.replay.result.peak);
  root["bounds"] = bounds_json(run);
  root["bars"] = bars_json(run);
  root["bars_about"] = bars_about(run);
  root["operations"] = run.history.operations;
  root["curves"] = curves_json(run.history.timeline);
  root["steps"] = steps_json(run.history);
  root["phases"] = phases_json(run.history, run.subject.trace->tables);
  root["all_stretches"] = run.history.has_all_stretches;
  root["marks"] = marks_json(run.history);
  root["mark_counts"] = mark_counts_json(run.history);
  root["moments"] = moments_json(run, sites);
  Holders holders;
  if (const KeyMoment* peak = moment_of(run.history, MomentKind::peak_allocated)) {
    holders = holders_at(*peak, run, sites);
  }
  root["holders"] = holders_json(holders);
  root["blame"] = blame_json(run.blame, sites);
  root["flames"] = flames_json(run, holders);
  root["settings"] = settings_json(run.subject.replay.settings);
  root["conf"] = to_conf(run.subject.replay.settings);
  root["torch"] = std::string(run.subject.replay.version->name);
  const json::object replay = replay_json(run.subject.replay);
  root["ooms"] = replay.at("ooms");
  root["notes"] = notes_json(run);
  root["sites"] = sites.names();
  return root;
}

}  // namespace highwater
