#include "sim/peak/memory_story.hpp"

#include <algorithm>
#include <utility>

#include "sim/replay/trace_driver.hpp"
#include "sim/replay/usage_tracker.hpp"

namespace highwater {
namespace {

template <class Enum>
constexpr std::size_t index(Enum e) {
  return static_cast<std::size_t>(e);
}

}  // namespace

// Thinned curves

void ThinnedCurve::add(std::size_t event, Bytes value) {
  if (last_ && last_->value == value) {
    return;
  }
  if (!current_.empty() && current_.front().event / stretch_ != event / stretch_) {
    settle();
  }
  const CurvePoint point{event, value};
  last_ = point;
  if (current_.empty()) {
    current_.assign(4, point);
  }
  current_[1] = value < current_[1].value ? point : current_[1];
  current_[2] = value > current_[2].value ? point : current_[2];
  current_[3] = point;
}

void ThinnedCurve::settle() {
  std::ranges::sort(current_, {}, &CurvePoint::event);
  for (const CurvePoint& point : current_) {
    if (points_.empty() || points_.back() != point) {
      points_.push_back(point);
    }
  }
  current_.clear();
}

std::vector<CurvePoint> ThinnedCurve::take() {
  settle();
  return std::move(points_);
}

// The start

StoryTeller::StoryTeller(const RequestTrace& trace, std::size_t stretches)
    : trace_(&trace),
      stretch_(trace.events.size() / std::max<std::size_t>(stretches, 1) + std::size_t{1}) {}

void StoryTeller::on_begin(const CachingAllocator& allocator, const TraceDriver& driver) {
  event_ = 0;
  decisions_.clear();
  blocks_.clear();
  allocated_.assign(trace_->allocation_count, std::nullopt);
  open_.clear();
  pools_.clear();
  total_.fill(ThinnedCurve(stretch_));
  open_ranges_.fill(std::nullopt);
  retries_ = 0;
  adds_up_ = true;
  story_ = {};
  for (const MapSegment& segment : allocator.memory_map().segments) {
    begin_segment(segment.range(), {segment.owner, segment.kind, segment.stream});
  }
  for (std::size_t i = 0; i < trace_->allocation_count; ++i) {
    if (driver.handle(AllocationId{i}).has_value()) {
      begin_block(AllocationId{i}, allocator.block(driver.handle(AllocationId{i})));
    }
  }
  add_points(allocator.statistics());
}

StoryTeller::Amounts& StoryTeller::amounts(const PoolStream& home) {
  const auto [found, is_new] = pools_.try_emplace(home);
  if (is_new) {
    found->second.curves.fill(ThinnedCurve(stretch_));
  }
  return found->second;
}

PoolStream StoryTeller::home_of(const Block& block) const {
  return {block.home->pool->owner, block.kind(), block.stream};
}

void StoryTeller::change(StoryCurve curve, const PoolStream& home, Bytes size, bool is_more) {
  Bytes& now = amounts(home).now.at(index(curve));
  if (!is_more && now < size) {
    adds_up_ = false;
    now = Bytes{};
    return;
  }
  now = is_more ? now + size : now - size;
}

void StoryTeller::begin_block(AllocationId id, const Block& block) {
  const Held held{home_of(block), block.size};
  blocks_.insert_or_assign(block.address.value(), held);
  allocated_[id.index()] = held;
  change(StoryCurve::allocated, held.home, held.size, true);
  change(StoryCurve::active, held.home, held.size, true);
}

void StoryTeller::begin_segment(AddressRange range, const PoolStream& home) {
  open_[range.begin] = {range, home, event_, std::nullopt};
  change(StoryCurve::reserved, home, range.size, true);
}

/// Pages are unmapped in pieces of what was mapped, or across it; what remains lives on.
void StoryTeller::end_segments(AddressRange range) {
  auto it = open_.upper_bound(range.begin);
  if (it != open_.begin()) {
    --it;
  }
  while (it != open_.end() && it->first < range.end()) {
    const SegmentLife life = it->second;
    const Address begin = std::max(life.range.begin, range.begin);
    const Address end = std::min(life.range.end(), range.end());
    if (!(begin < end)) {
      ++it;
      continue;
    }
    it = open_.erase(it);
    SegmentLife gone = life;
    gone.range = {begin, end - begin};
    gone.end = event_;
    story_.segments.push_back(gone);
    change(StoryCurve::reserved, life.home, gone.range.size, false);
    for (const AddressRange rest : {AddressRange{life.range.begin, begin - life.range.begin},
                                    AddressRange{end, life.range.end() - end}}) {
      if (rest.size.count() != 0) {
        SegmentLife kept = life;
        kept.range = rest;
        open_[rest.begin] = kept;
      }
    }
    it = open_.lower_bound(end);
  }
}

// The events

void StoryTeller::on_state(const Event& event, AllocationStatus status,
                           const CachingAllocator& allocator, const TraceDriver& driver) {
  const Statistics& statistics = allocator.statistics();
  BlockId handle;
  if (event.kind == EventKind::alloc) {
    handle = driver.handle(event.allocation);
  } else if (event.kind == EventKind::free && allocated_[event.allocation.index()]) {
    const Held& held = *allocated_[event.allocation.index()];
    change(StoryCurve::allocated, held.home, held.size, false);
    allocated_[event.allocation.index()].reset();
  }
  const auto home = handle.has_value() ? std::optional(home_of(allocator.block(handle)))
                                       : std::optional<PoolStream>();
  for (const Decision& decision : decisions_) {
    apply(decision, home);
  }
  decisions_.clear();
  if (handle.has_value()) {
    begin_block(event.allocation, allocator.block(handle));
  }
  mark(event);
  note_incidents(event, status, statistics);
  add_points(statistics);
  // An empty_cache that the replay of a recording found is no event of the trace.
  event_ += event_ < trace_->events.size() && &event == &trace_->events[event_] ? 1U : 0U;
}

void StoryTeller::apply(const Decision& decision, const std::optional<PoolStream>& home) {
  const AddressRange range{decision.address, decision.size};
  switch (decision.action) {
    case RecordedAction::segment_alloc:
    case RecordedAction::segment_map:
      if (home) {
        begin_segment(range, *home);
      }
      adds_up_ &= home.has_value();
      break;
    case RecordedAction::segment_free:
    case RecordedAction::segment_unmap:
      end_segments(range);
      break;
    case RecordedAction::free_completed:
      complete(decision.address);
      break;
    default:
      break;
  }
}

void StoryTeller::complete(Address address) {
  const auto found = blocks_.find(address.value());
  if (found == blocks_.end()) {
    adds_up_ = false;
    return;
  }
  change(StoryCurve::active, found->second.home, found->second.size, false);
  blocks_.erase(found);
}

void StoryTeller::mark(const Event& event) {
  if (event.is_operation()) {
    return;
  }
  const RangeKind kind = event.kind == EventKind::step    ? RangeKind::step
                         : event.kind == EventKind::phase ? RangeKind::phase
                                                          : RangeKind::op;
  for (std::size_t inner = index(kind); inner < open_ranges_.size(); ++inner) {
    close(static_cast<RangeKind>(inner));
  }
  open_ranges_.at(index(kind)) = StoryRange{kind, event.value, event_, event_};
}

void StoryTeller::close(RangeKind kind) {
  std::optional<StoryRange>& range = open_ranges_.at(index(kind));
  if (range) {
    range->end = event_;
    story_.ranges.push_back(*range);
    range.reset();
  }
}

void StoryTeller::note_incidents(const Event& event, AllocationStatus status,
                                 const Statistics& statistics) {
  if (status == AllocationStatus::out_of_memory) {
    story_.incidents.push_back({Incident::out_of_memory, event_, event.bytes()});
  } else if (statistics.counters.num_alloc_retries != retries_) {
    story_.incidents.push_back({Incident::retry, event_, event.bytes()});
  } else if (event.kind == EventKind::empty_cache) {
    story_.incidents.push_back({Incident::empty_cache, event_, Bytes{}});
  }
  retries_ = statistics.counters.num_alloc_retries;
}

void StoryTeller::add_points(const Statistics& statistics) {
  const Usage usage = usage_of(statistics);
  const std::array values{usage.reserved, usage.allocated, usage.active};
  std::array<Bytes, kStoryCurveCount> sums{};
  for (auto& [home, amounts] : pools_) {
    for (std::size_t c = 0; c < kStoryCurveCount; ++c) {
      sums.at(c) += amounts.now.at(c);
      amounts.curves.at(c).add(event_, amounts.now.at(c));
    }
  }
  for (std::size_t c = 0; c < kStoryCurveCount; ++c) {
    total_.at(c).add(event_, values.at(c));
  }
  adds_up_ &= sums == values;
}

MemoryStory StoryTeller::take() {
  for (const RangeKind kind : {RangeKind::op, RangeKind::phase, RangeKind::step}) {
    close(kind);
  }
  story_.events = event_;
  for (const auto& [begin, life] : open_) {
    story_.segments.push_back(life);
  }
  for (std::size_t c = 0; c < kStoryCurveCount; ++c) {
    story_.total.at(c) = total_.at(c).take();
  }
  for (auto& [home, amounts] : pools_) {
    for (std::size_t c = 0; adds_up_ && c < kStoryCurveCount; ++c) {
      story_.pools[home].at(c) = amounts.curves.at(c).take();
    }
  }
  return std::move(story_);
}

}  // namespace highwater
