#include "sim/peak/peak_change.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace highwater {
namespace {

/// Shares by name.
using Shares = std::map<std::string, NamedShare>;

void add(Shares& shares, const SiteName& name, std::uint64_t count, const MemoryBreakdown& parts) {
  NamedShare& share = shares[name.name];
  share.name = name;
  share.count += count;
  share.parts += parts;
}

std::vector<NamedShare> listed(Shares shares) {
  std::vector<NamedShare> list;
  for (auto& [name, share] : shares) {
    list.push_back(std::move(share));
  }
  return list;
}

/// Free memory and memory that was reserved only in passing have no holder.
void add_remainders(const NamedPeak& first, const NamedPeak& second, PeakRows& rows) {
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

bool holds_something(const NamedShare& share) {
  return share.count != 0 || share.parts != MemoryBreakdown{};
}

PeakRows rows_of(const std::vector<NamedShare>& first, const std::vector<NamedShare>& second,
                 const Renames& renames = {}) {
  std::map<std::string, PeakRow> rows;
  for (const NamedShare& share : first) {
    if (holds_something(share)) {
      PeakRow& row = rows[share.name.name];
      row.first = share.parts;
      row.first_count = share.count;
    }
  }
  for (const NamedShare& share : second) {
    if (holds_something(share)) {
      const std::string& name = share.name.name;
      const auto renamed = renames.find(name);
      PeakRow& row = rows[renamed == renames.end() ? name : renamed->second];
      row.second = share.parts;
      row.second_count = share.count;
      row.second_name = renamed == renames.end() ? "" : name;
    }
  }
  PeakRows list;
  for (auto& [name, row] : rows) {
    row.name = name;
    list.push_back(std::move(row));
  }
  return list;
}

/// The sites of one side by the function that they lie in.
class Functions {
 public:
  explicit Functions(const std::vector<NamedShare>& sites) {
    for (const NamedShare& share : sites) {
      names_.insert(share.name.name);
      if (!share.name.without_line.empty()) {
        sites_[share.name.without_line].insert(share.name.name);
      }
    }
  }

  [[nodiscard]] bool has(const std::string& site) const { return names_.contains(site); }

  /// Functions with their sites.
  [[nodiscard]] const std::map<std::string, std::set<std::string>>& sites() const { return sites_; }

 private:
  std::map<std::string, std::set<std::string>> sites_;
  std::set<std::string> names_;
};

Renames moved_lines(const Functions& first, const Functions& second) {
  Renames renames;
  for (const auto& [function, sites] : first.sites()) {
    const auto other = second.sites().find(function);
    if (other == second.sites().end() || sites.size() != 1 || other->second.size() != 1) {
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

/// Of the whole trace.
Shares by_site(const PeakSide& side) {
  Shares shares;
  std::map<StackId, SiteName> names;
  const auto name = [&](StackId stack) -> const SiteName& {
    const auto [entry, is_new] = names.try_emplace(stack);
    if (is_new) {
      entry->second = side.site(stack);
      add(shares, entry->second, 0, {});
    }
    return entry->second;
  };
  for (const Event& event : side.trace->events) {
    if (event.kind == EventKind::alloc) {
      name(event.stack);
    }
  }
  for (const auto& holder : side.peak->holders) {
    add(shares, name(holder.origin.stack), holder.blocks, holder.held);
  }
  return shares;
}

Shares by_category(const PeakBreakdown& peak) {
  Shares shares;
  for (const auto& holder : peak.holders) {
    add(shares, {std::string(to_string(holder.origin.category)), ""}, holder.blocks, holder.held);
  }
  return shares;
}

Shares by_segment(const PeakBreakdown& peak) {
  Shares shares;
  for (const SegmentShare& share : peak.segments) {
    const std::string pool = share.pool == 0 ? "" : fmt::format(", private pool {}", share.pool);
    add(shares,
        {fmt::format("{}, stream {}{}", to_string(share.segment_class), share.stream, pool), ""},
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

NamedPeak named_peak(const PeakSide& side) {
  NamedPeak named;
  named.parts = side.peak->parts;
  named.sites = listed(by_site(side));
  named.categories = listed(by_category(*side.peak));
  named.segments = listed(by_segment(*side.peak));
  return named;
}

PeakChange change_of_peak(const NamedPeak& first, const NamedPeak& second) {
  PeakChange change;
  change.total.name = "peak reserved";
  change.total.first = first.parts;
  change.total.second = second.parts;
  change.sites = rows_of(first.sites, second.sites,
                         moved_lines(Functions(first.sites), Functions(second.sites)));
  add_remainders(first, second, change.sites);
  sort_rows(change.sites);
  change.categories = rows_of(first.categories, second.categories);
  add_remainders(first, second, change.categories);
  sort_rows(change.categories);
  change.segments = rows_of(first.segments, second.segments);
  PeakRow passing;
  passing.name = "(reserved within one operation only)";
  passing.first.passing = first.parts.passing;
  passing.second.passing = second.parts.passing;
  passing.is_remainder = true;
  change.segments.push_back(std::move(passing));
  sort_rows(change.segments);
  return change;
}

}  // namespace highwater
