#include "sim/peak/peak_change.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace highwater {
namespace {

struct Share {
  std::uint64_t count = 0;
  MemoryBreakdown parts;
};

using Shares = std::map<std::string, Share>;

void add(Shares& shares, const std::string& name, std::uint64_t count,
         const MemoryBreakdown& parts) {
  Share& share = shares[name];
  share.count += count;
  share.parts += parts;
}

/// Free memory and memory that was reserved only in passing have no holder.
void add_remainders(const PeakBreakdown& first, const PeakBreakdown& second, PeakRows& rows) {
  const auto add_part = [&](const char* name, Bytes MemoryBreakdown::*part) {
    PeakRow row;
    row.name = name;
    row.first.*part = first.parts.*part;
    row.second.*part = second.parts.*part;
    row.is_remainder = true;
    rows.push_back(std::move(row));
  };
  add_part("(free in segments in use)", &MemoryBreakdown::free_in_split);
  add_part("(free whole segments)", &MemoryBreakdown::free_whole);
  add_part("(reserved within one operation only)", &MemoryBreakdown::passing);
}

bool is_empty(const PeakRow& row) {
  return row.first == MemoryBreakdown{} && row.second == MemoryBreakdown{} &&
         row.first_count == 0 && row.second_count == 0;
}

void sort_rows(PeakRows& rows) {
  std::erase_if(rows, is_empty);
  const auto larger = [](const PeakRow& a, const PeakRow& b) {
    if (a.is_remainder != b.is_remainder) {
      return b.is_remainder;
    }
    return std::abs(a.change()) > std::abs(b.change());
  };
  std::ranges::stable_sort(rows, larger);
}

/// Names of the second side that correspond to another name of the first: the line moved.
using Renames = std::map<std::string, std::string>;

PeakRows rows_of(const Shares& first, const Shares& second, const Renames& renames = {}) {
  std::map<std::string, PeakRow> rows;
  for (const auto& [name, share] : first) {
    PeakRow& row = rows[name];
    row.first = share.parts;
    row.first_count = share.count;
  }
  for (const auto& [name, share] : second) {
    const auto renamed = renames.find(name);
    PeakRow& row = rows[renamed == renames.end() ? name : renamed->second];
    row.second = share.parts;
    row.second_count = share.count;
    row.second_name = renamed == renames.end() ? "" : name;
  }
  PeakRows list;
  for (auto& [name, row] : rows) {
    row.name = name;
    list.push_back(std::move(row));
  }
  return list;
}

/// The call sites of a whole trace, whether or not they hold something at its peak.
class Sites {
 public:
  explicit Sites(const PeakSide& side) : side_(&side) {
    for (const Event& event : side.trace->events) {
      if (event.kind == EventKind::alloc) {
        name(event.stack);
      }
    }
  }

  const std::string& name(StackId stack) {
    const auto [entry, is_new] = names_.try_emplace(stack);
    if (is_new) {
      SiteName site = side_->site(stack);
      entry->second = site.name;
      if (!site.without_line.empty()) {
        by_function_[site.without_line].insert(site.name);
      }
      all_.insert(std::move(site.name));
    }
    return entry->second;
  }

  [[nodiscard]] bool has(const std::string& site) const { return all_.contains(site); }

  /// Functions with their sites.
  [[nodiscard]] const std::map<std::string, std::set<std::string>>& by_function() const {
    return by_function_;
  }

  Shares shares() {
    Shares shares;
    for (const auto& holder : side_->peak->holders) {
      add(shares, name(holder.origin.stack), holder.blocks, holder.held);
    }
    return shares;
  }

 private:
  const PeakSide* side_;
  std::map<StackId, std::string> names_;
  std::map<std::string, std::set<std::string>> by_function_;
  std::set<std::string> all_;
};

Renames moved_lines(const Sites& first, const Sites& second) {
  Renames renames;
  for (const auto& [function, sites] : first.by_function()) {
    const auto other = second.by_function().find(function);
    if (other == second.by_function().end() || sites.size() != 1 || other->second.size() != 1) {
      continue;
    }
    const std::string& from = *sites.begin();
    const std::string& to = *other->second.begin();
    if (from != to && !second.has(from) && !first.has(to)) {
      renames.emplace(to, from);
    }
  }
  return renames;
}

PeakRows site_rows(const PeakSide& first, const PeakSide& second) {
  Sites first_sites(first);
  Sites second_sites(second);
  const Shares first_shares = first_sites.shares();
  const Shares second_shares = second_sites.shares();
  return rows_of(first_shares, second_shares, moved_lines(first_sites, second_sites));
}

Shares by_category(const PeakBreakdown& peak) {
  Shares shares;
  for (const auto& holder : peak.holders) {
    add(shares, std::string(to_string(holder.origin.category)), holder.blocks, holder.held);
  }
  return shares;
}

Shares by_segment(const PeakBreakdown& peak) {
  Shares shares;
  for (const SegmentShare& share : peak.segments) {
    const std::string pool = share.pool == 0 ? "" : fmt::format(", private pool {}", share.pool);
    add(shares, fmt::format("{}, stream {}{}", to_string(share.segment_class), share.stream, pool),
        share.segments, share.parts);
  }
  return shares;
}

}  // namespace

std::int64_t difference(Bytes first, Bytes second) {
  return static_cast<std::int64_t>(second.count()) - static_cast<std::int64_t>(first.count());
}

std::int64_t PeakRow::change() const {
  return difference(first.total(), second.total());
}

PeakRow sum_of(const PeakRows& rows, std::size_t begin, std::size_t end) {
  PeakRow sum;
  for (std::size_t i = begin; i < end; ++i) {
    sum.first += rows[i].first;
    sum.second += rows[i].second;
    sum.first_count += rows[i].first_count;
    sum.second_count += rows[i].second_count;
  }
  return sum;
}

PeakChange change_of_peak(const PeakSide& first, const PeakSide& second) {
  PeakChange change;
  change.total.name = "peak reserved";
  change.total.first = first.peak->parts;
  change.total.second = second.peak->parts;
  change.sites = site_rows(first, second);
  add_remainders(*first.peak, *second.peak, change.sites);
  sort_rows(change.sites);
  change.categories = rows_of(by_category(*first.peak), by_category(*second.peak));
  add_remainders(*first.peak, *second.peak, change.categories);
  sort_rows(change.categories);
  change.segments = rows_of(by_segment(*first.peak), by_segment(*second.peak));
  PeakRow passing;
  passing.name = "(reserved within one operation only)";
  passing.first.passing = first.peak->parts.passing;
  passing.second.passing = second.peak->parts.passing;
  passing.is_remainder = true;
  change.segments.push_back(std::move(passing));
  sort_rows(change.segments);
  return change;
}

}  // namespace highwater
