#include "tools/html/report_holders.hpp"

#include <algorithm>
#include <map>

#include "tools/html/report_maps.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// How many sites a table lists; the rest is summed.
constexpr std::size_t kSitesShown = 25;

/// By number of the site; -1: not known.
using SiteNumber = std::int64_t;

/// Who holds the allocated bytes of one moment, and the same by stack.
struct PeakHolders {
  std::vector<Holder<SiteNumber>> sites;
  StackValues stacks;
};

PeakHolders holders_in(const MemoryState& state, const ReportRun& run, ReportSites& sites) {
  HolderSums<SiteNumber> by_site;
  std::map<StackId, std::uint64_t> by_stack;
  std::size_t i = 0;
  for (const MapSegment& segment : state.map.segments) {
    for (const MapBlock& block : segment.blocks) {
      const AllocationId owner = state.owners[i++];
      if (block.state != BlockState::active_allocated) {
        continue;
      }
      const StackId stack = owner.has_value() && owner.index() < run.stacks.size()
                                ? run.stacks[owner.index()]
                                : StackId::none();
      by_stack[stack] += block.size.count();
      by_site.add(sites.of(stack), block.size);
    }
  }
  return {by_site.largest_first(), {by_stack.begin(), by_stack.end()}};
}

PeakHolders holders_at_peak(const ReportRun& run, ReportSites& sites) {
  const std::vector<Moment>& moments = run.history.moments;
  const auto peak = std::ranges::find(moments, MomentKind::peak_allocated, &Moment::kind);
  return peak == moments.end()
             ? PeakHolders{}
             : holders_in(run.states[static_cast<std::size_t>(peak - moments.begin())], run, sites);
}

json::object holders_json(const PeakHolders& holders) {
  json::array rows;
  Holder<SiteNumber> rest;
  std::uint64_t rest_sites = 0;
  for (const Holder<SiteNumber>& holder : holders.sites) {
    if (rows.size() < kSitesShown) {
      rows.push_back(json::array{holder.origin, holder.held.count(), holder.blocks});
    } else {
      rest.held += holder.held;
      rest.blocks += holder.blocks;
      ++rest_sites;
    }
  }
  return {{"rows", std::move(rows)},
          {"rest", json::array{rest_sites, rest.held.count(), rest.blocks}}};
}

/// The stacks' shares by site, the largest of the whole run first.
std::vector<Holder<SiteNumber, PinnedMemory>> pinned_by_site(const FragmentationBlame& blame,
                                                             ReportSites& sites) {
  HolderSums<SiteNumber, PinnedMemory> sums;
  for (const PinningStack& stack : blame.stacks) {
    sums.add(sites.of(stack.origin), stack.held, stack.blocks);
  }
  std::vector<Holder<SiteNumber, PinnedMemory>> rows = sums.by_origin();
  const auto weight = [](const auto& row) { return row.held.byte_operations; };
  std::ranges::stable_sort(rows, std::ranges::greater{}, weight);
  return rows;
}

json::object blame_json(const FragmentationBlame& blame, ReportSites& sites) {
  json::array list;
  PinnedMemory rest;
  std::uint64_t rest_sites = 0;
  const std::uint64_t operations = std::max<std::uint64_t>(blame.operations, 1);
  for (const auto& [site, pinned, blocks] : pinned_by_site(blame, sites)) {
    if (list.size() < kSitesShown) {
      list.push_back(json::array{site, pinned.byte_operations / operations, pinned.bytes.count(),
                                 pinned.active.count(), pinned.pinning_blocks});
    } else {
      rest += pinned;
      ++rest_sites;
    }
  }
  return {{"rows", std::move(list)},
          {"rest", json::array{rest_sites, rest.byte_operations / operations, rest.bytes.count(),
                               rest.active.count(), rest.pinning_blocks}},
          {"average", blame.average_pinned().count()},
          {"pinned", blame.pinned.count()},
          {"unused", blame.unused.count()}};
}

StackValues average_by_stack(const FragmentationBlame& blame) {
  StackValues values;
  const std::uint64_t operations = std::max<std::uint64_t>(blame.operations, 1);
  for (const PinningStack& stack : blame.stacks) {
    if (stack.held.byte_operations >= operations) {
      values.emplace_back(stack.origin, stack.held.byte_operations / operations);
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

json::array flames_json(const ReportRun& run, const PeakHolders& holders) {
  const SideTables& tables = run.explained.workload.trace->tables;
  json::array list;
  list.push_back(named_flame("live", "allocated at the peak",
                             "Allocated bytes by call stack at the allocated peak.", tables,
                             holders.stacks));
  list.push_back(named_flame("pinned", "free memory pinned",
                             "Free bytes that live blocks keep from being released, by the call "
                             "stacks of those blocks, averaged over the run.",
                             tables, average_by_stack(run.explained.blame)));
  return list;
}

}  // namespace

void add_holders(const ReportRun& run, ReportSites& sites, json::object& root) {
  const PeakHolders holders = holders_at_peak(run, sites);
  root["holders"] = holders_json(holders);
  json::object blame = blame_json(run.explained.blame, sites);
  blame["when"] = run.explained.oom ? "when memory ran out" : "at peak reserved";
  root["blame"] = std::move(blame);
  root["flames"] = flames_json(run, holders);
}

}  // namespace highwater
