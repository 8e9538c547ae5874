#include "sim/peak/peak_sizes.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "sim/peak/live_blocks.hpp"

namespace highwater {
namespace {

/// Blocks of one size by site.
using BlocksBySite = std::map<std::string, std::uint64_t>;

/// What is alive at the peak of one side.
struct AliveAtPeak {
  Bytes total;
  std::map<Bytes, BlocksBySite> sizes;
};

AliveAtPeak alive_at_peak(const RequestTrace& trace, const NameOfSite& site) {
  AliveAtPeak alive;
  const LiveMemory peak = live_at_peak(trace);
  alive.total = peak.total;
  if (trace.events.empty()) {
    return alive;
  }
  std::map<StackId, std::string> names;
  for (const LiveBlock& block : live_blocks_at(trace, peak.at)) {
    const auto [name, is_new] = names.try_emplace(block.stack);
    if (is_new) {
      name->second = site(block.stack);
    }
    ++alive.sizes[block.bytes][name->second];
  }
  return alive;
}

std::uint64_t count_of(const BlocksBySite& sites) {
  std::uint64_t blocks = 0;
  for (const auto& [site, count] : sites) {
    blocks += count;
  }
  return blocks;
}

/// What `sites` have beyond `others`.
std::vector<SiteBlocks> beyond(const BlocksBySite& sites, const BlocksBySite& others) {
  std::vector<SiteBlocks> list;
  for (const auto& [site, count] : sites) {
    const auto other = others.find(site);
    const std::uint64_t shared = other == others.end() ? 0 : std::min(count, other->second);
    if (count > shared) {
      list.push_back({site, count - shared});
    }
  }
  std::ranges::stable_sort(list, std::ranges::greater(), &SiteBlocks::blocks);
  return list;
}

PeakSize row_of(Bytes bytes, const BlocksBySite& first, const BlocksBySite& second) {
  return {bytes, count_of(first), count_of(second), beyond(first, second), beyond(second, first)};
}

std::set<std::string> names_of(const AliveAtPeak& alive) {
  std::set<std::string> names;
  for (const auto& [bytes, sites] : alive.sizes) {
    for (const auto& [site, count] : sites) {
      names.insert(site);
    }
  }
  return names;
}

/// Whether the sides name their sites alike: of a recording and a simulation hardly any agree.
bool share_names(const AliveAtPeak& first, const AliveAtPeak& second) {
  const std::set<std::string> one = names_of(first);
  const std::set<std::string> other = names_of(second);
  const auto shared =
      std::ranges::count_if(one, [&](const std::string& name) { return other.contains(name); });
  return 2 * static_cast<std::size_t>(shared) >= std::max(one.size(), other.size());
}

const BlocksBySite& of_size(const AliveAtPeak& alive, Bytes bytes) {
  static const BlocksBySite kNone;
  const auto found = alive.sizes.find(bytes);
  return found == alive.sizes.end() ? kNone : found->second;
}

}  // namespace

std::int64_t PeakSize::change() const {
  return static_cast<std::int64_t>(bytes.count()) *
         (static_cast<std::int64_t>(second) - static_cast<std::int64_t>(first));
}

PeakSizes compare_peak_sizes(const RequestTrace& first, const RequestTrace& second,
                             const NameOfSite& first_site, const NameOfSite& second_site) {
  const AliveAtPeak before = alive_at_peak(first, first_site);
  const AliveAtPeak after = alive_at_peak(second, second_site);
  PeakSizes result{before.total, after.total, {}};
  std::map<Bytes, BlocksBySite> sizes = before.sizes;
  sizes.insert(after.sizes.begin(), after.sizes.end());
  const bool can_match_sites = share_names(before, after);
  for (const auto& [bytes, sites] : sizes) {
    PeakSize row = row_of(bytes, of_size(before, bytes), of_size(after, bytes));
    if (row.first != row.second || (can_match_sites && !row.only_first.empty())) {
      result.rows.push_back(std::move(row));
    }
  }
  std::ranges::stable_sort(result.rows, std::ranges::greater(),
                           [](const PeakSize& row) { return std::abs(row.change()); });
  return result;
}

}  // namespace highwater
