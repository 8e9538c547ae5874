#include "tools/html/report_bands.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/html/report_frames.hpp"
#include "traces/event.hpp"

namespace highwater {
namespace {

namespace json = boost::json;

/// Groups with a curve of their own; the others are summed by category.
constexpr std::size_t kGroups = 12;

/// Frames of call stacks; a stack that would need more has none in the page.
constexpr std::size_t kStackNodes = 12000;

/// Call stacks as a tree, since they share their outer frames: a node is [frame, caller's node].
class StackNodes {
 public:
  explicit StackNodes(const SideTables& tables) : tables_(&tables), frames_(tables) {}

  /// The node of the innermost frame; -1 if there is no stack or no room for it.
  std::int64_t of(StackId stack) {
    const auto [known, is_new] = by_stack_.try_emplace(stack, -1);
    if (is_new && stack.has_value()) {
      known->second = add(tables_->stacks.stack(stack));
    }
    return known->second;
  }

  [[nodiscard]] json::array nodes() { return std::move(nodes_); }

  [[nodiscard]] json::array frames() { return frames_.take(); }

  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  std::int64_t add(std::span<const FrameId> frames) {
    if (nodes_.size() + frames.size() > kStackNodes) {
      ++left_out_;
      return -1;
    }
    std::int64_t caller = -1;
    for (std::size_t i = frames.size(); i-- > 0;) {
      caller = child(caller, frames[i]);
    }
    return caller;
  }

  std::int64_t child(std::int64_t caller, FrameId frame) {
    const auto [known, is_new] =
        children_.try_emplace({caller, frame}, static_cast<std::int64_t>(nodes_.size()));
    if (is_new) {
      nodes_.push_back(json::array{frames_.of(frame), caller});
    }
    return known->second;
  }

  const SideTables* tables_;
  FrameNames frames_;
  std::map<StackId, std::int64_t> by_stack_;
  std::map<std::pair<std::int64_t, FrameId>, std::int64_t> children_;
  json::array nodes_;
  std::uint64_t left_out_ = 0;
};

StackId stack_of(const ReportRun& run, const Band& band) {
  return run.stacks[band.allocation.index()];
}

Category category_of(const ReportRun& run, const Band& band) {
  return run.categories.empty() ? Category::unknown : run.categories[band.allocation.index()];
}

/// Sizes are written as multiples of this, which halves their digits: allocators round sizes up.
std::uint64_t unit_of(const SplitBands& bands) {
  std::uint64_t unit = 0;
  for (const Band& band : bands.kept) {
    unit = std::gcd(unit, band.size.count());
  }
  for (const Band& band : bands.summed) {
    unit = std::gcd(unit, band.size.count());
  }
  return std::max<std::uint64_t>(unit, 1);
}

/// [size in units, site, stack, category, operations since the begin of the block before,
/// operations until its free or -1]; the columns follow from these.
json::array block_json(const TimedBand& band, std::uint64_t unit, std::uint64_t before,
                       const ReportRun& run, ReportSites& sites, StackNodes& stacks) {
  json::array entry{band.size.count() / unit, sites.of(stack_of(run, band)),
                    stacks.of(stack_of(run, band))};
  entry.emplace_back(static_cast<int>(category_of(run, band)));
  entry.emplace_back(band.begin - before);
  entry.emplace_back(
      band.end == TimedBand::kNever ? -1 : static_cast<std::int64_t>(band.end - band.begin));
  return entry;
}

/// Sites and categories by number. Only what the page shows becomes one of the report's sites:
/// there may be as many sites as call stacks.
class BandGroups {
 public:
  explicit BandGroups(const ReportRun& run)
      : run_(&run),
        by_stack_(run.explained.workload.trace->tables.stacks.stack_count() + 1, kNew) {}

  std::uint64_t of(const Band& band) {
    return site(stack_of(*run_, band)) * kCategoryCount +
           static_cast<std::uint64_t>(category_of(*run_, band));
  }

  [[nodiscard]] StackId stack(std::uint64_t group) const { return sites_[group / kCategoryCount]; }

  static Category category(std::uint64_t group) {
    return static_cast<Category>(group % kCategoryCount);
  }

 private:
  std::uint64_t site(StackId stack) {
    std::uint64_t& known = by_stack_[stack.has_value() ? stack.index() + 1 : 0];
    if (known == kNew) {
      const auto [named, added] =
          by_name_.try_emplace(run_->explained.workload.site(stack), sites_.size());
      if (added) {
        sites_.push_back(stack);
      }
      known = named->second;
    }
    return known;
  }

  static constexpr std::uint64_t kNew = std::numeric_limits<std::uint64_t>::max();

  const ReportRun* run_;
  std::vector<std::uint64_t> by_stack_;  ///< by StackId + 1; first without a stack
  std::map<std::string, std::uint64_t> by_name_;
  std::vector<StackId> sites_;  ///< a stack of each
};

json::object sum_json(const BandSum& sum, std::uint64_t unit, std::int64_t site,
                      std::uint64_t sites, Category category) {
  json::array changes;
  for (const std::int64_t change : sum.changes) {
    changes.emplace_back(change / static_cast<std::int64_t>(unit));
  }
  return {{"site", site},
          {"sites", sites},
          {"category", static_cast<int>(category)},
          {"blocks", sum.blocks},
          {"changes", std::move(changes)}};
}

void add(BandSum& sum, const BandSum& more) {
  sum.blocks += more.blocks;
  sum.changes.resize(more.changes.size());
  for (std::size_t i = 0; i < more.changes.size(); ++i) {
    sum.changes[i] += more.changes[i];
  }
}

/// What is beyond the largest groups, by category and with the number of its sites.
json::array sums_json(const ReportRun& run, std::uint64_t unit, ReportSites& sites) {
  BandGroups groups(run);
  json::array list;
  std::map<Category, std::pair<BandSum, std::uint64_t>> rests;
  for (const BandSum& sum : sum_bands(run.bands.summed, run.band_columns.moments.size(),
                                      [&](const Band& band) { return groups.of(band); })) {
    const Category category = BandGroups::category(sum.group);
    if (list.size() < kGroups) {
      list.push_back(sum_json(sum, unit, sites.of(groups.stack(sum.group)), 1, category));
    } else {
      auto& [rest, count] = rests[category];
      add(rest, sum);
      ++count;
    }
  }
  for (const auto& [category, rest] : rests) {
    list.push_back(sum_json(rest.first, unit, -1, rest.second, category));
  }
  return list;
}

/// So many pools have an area of their own; the others are summed.
constexpr std::size_t kPools = 8;

Bytes most_of(const PoolArea& area) {
  return *std::ranges::max_element(area.reserved);
}

json::object area_json(std::string name, const PoolArea& area) {
  json::array changes;
  std::int64_t before = 0;
  for (const Bytes bytes : area.reserved) {
    const auto now = static_cast<std::int64_t>(bytes.count());
    changes.emplace_back(now - std::exchange(before, now));
  }
  return {{"name", std::move(name)}, {"changes", std::move(changes)}};
}

std::string name_of(PoolId owner) {
  return owner.is_default() ? "common pools"
                            : fmt::format("private pool ({}, {})", owner.capture, owner.user);
}

/// The common pools first, then the largest private ones, the others summed last.
json::array pools_json(const ReportRun& run) {
  std::vector<PoolArea> areas = run.pools;
  json::array list;
  if (areas.empty()) {
    return list;
  }
  std::ranges::stable_sort(areas.begin() + 1, areas.end(), std::ranges::greater{}, most_of);
  PoolArea rest{.owner = {}, .reserved = std::vector<Bytes>(areas.front().reserved.size())};
  for (std::size_t i = 0; i < areas.size(); ++i) {
    if (i < kPools) {
      list.push_back(area_json(name_of(areas[i].owner), areas[i]));
      continue;
    }
    for (std::size_t c = 0; c < rest.reserved.size(); ++c) {
      rest.reserved[c] += areas[i].reserved[c];
    }
  }
  if (areas.size() > kPools) {
    list.push_back(area_json(fmt::format("{} more private pools", areas.size() - kPools), rest));
  }
  return list;
}

json::array differences(const std::vector<std::uint64_t>& values) {
  json::array list;
  std::uint64_t before = 0;
  for (const std::uint64_t value : values) {
    list.emplace_back(value - std::exchange(before, value));
  }
  return list;
}

}  // namespace

json::object bands_json(const ReportRun& run, ReportSites& sites) {
  StackNodes stacks(run.explained.workload.trace->tables);
  json::array blocks;
  const std::uint64_t unit = unit_of(run.bands);
  std::uint64_t before = 0;
  for (const TimedBand& band : run.bands.kept) {
    blocks.push_back(block_json(band, unit, std::exchange(before, band.begin), run, sites, stacks));
  }
  json::array categories;
  for (std::size_t i = 0; i < kCategoryCount; ++i) {
    categories.emplace_back(to_string(static_cast<Category>(i)));
  }
  return {{"operations_per_column", run.band_columns.width},
          {"bytes_per_unit", unit},
          {"moments", differences(run.band_columns.moments)},
          {"has_categories", !run.categories.empty()},
          {"categories", std::move(categories)},
          {"blocks", std::move(blocks)},
          {"sums", sums_json(run, unit, sites)},
          {"pools", pools_json(run)},
          {"summed", run.bands.summed.size()},
          {"unseen", run.unseen_blocks},
          {"stacks", stacks.nodes()},
          {"frames", stacks.frames()},
          {"stacks_left_out", stacks.left_out()}};
}

json::value times_json(const ReportRun& run) {
  const OperationTimes& times = run.explained.workload.times;
  if (times.at.empty()) {
    return nullptr;
  }
  json::array passed;
  std::int64_t before = times.at.front();
  for (const std::int64_t time : times.at) {
    passed.emplace_back(time - std::exchange(before, time));
  }
  return json::object{{"start_us", times.at.front()},
                      {"operations_per_sample", times.width},
                      {"passed_us", std::move(passed)}};
}

}  // namespace highwater
