#include "tools/html/report_holders.hpp"

#include <algorithm>
#include <map>

#include "tools/html/report_maps.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// How many sites a table lists; the rest is summed.
constexpr std::size_t kSitesShown = 25;

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

json::object blame_json(const FragmentationBlame& blame, ReportSites& sites) {
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

StackValues average_by_stack(const FragmentationBlame& blame) {
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

json::array flames_json(const ReportRun& run, const Holders& holders) {
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
  Holders holders;
  if (const KeyMoment* peak = moment_of(run.history, MomentKind::peak_allocated)) {
    holders = holders_at(*peak, run, sites);
  }
  root["holders"] = holders_json(holders);
  json::object blame = blame_json(run.explained.blame, sites);
  blame["when"] = run.explained.oom ? "when memory ran out" : "at peak reserved";
  root["blame"] = std::move(blame);
  root["flames"] = flames_json(run, holders);
}

}  // namespace highwater
