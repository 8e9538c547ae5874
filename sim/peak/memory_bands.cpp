#include "sim/peak/memory_bands.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/replay/trace_driver.hpp"

namespace highwater {
namespace {

/// In order of time, so that older blocks lie lower; of one operation there is one block at most,
/// but for those that were there before.
bool is_older(const TimedBand& a, const TimedBand& b) {
  return a.begin != b.begin ? a.begin < b.begin : a.allocation < b.allocation;
}

bool is_heavier(const TimedBand& a, const TimedBand& b) {
  return a.area() != b.area() ? a.area() > b.area() : is_older(a, b);
}

}  // namespace

BandColumns band_columns(const Timeline& timeline, std::size_t most) {
  BandColumns columns;
  const std::uint64_t width = timeline.operations_per_bucket();
  const std::size_t buckets = timeline.buckets().size();
  const std::size_t joined = std::max<std::size_t>((buckets + most - 1) / most, 1);
  columns.width = width * joined;
  for (const ValueRange& range :
       timeline.curve(Curve::allocated).ranges(columns.width, (buckets + joined - 1) / joined)) {
    columns.moments.push_back(range.high_at);
    columns.highest = std::max(columns.highest, range.high);
  }
  return columns;
}

void BandRecorder::on_begin(const CachingAllocator& allocator, const TraceDriver& driver) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const BlockId handle = driver.handle(AllocationId(i));
    if (handle.has_value()) {
      begin(AllocationId(i), allocator.block(handle).size, 0);
    }
  }
}

void BandRecorder::on_state(const Event& event, AllocationStatus /*status*/,
                            const CachingAllocator& allocator, const TraceDriver& driver) {
  if (event.kind != EventKind::alloc && event.kind != EventKind::free) {
    return;
  }
  const std::uint64_t operation = std::max<std::uint64_t>(driver.operations(), 1) - 1;
  end(event.allocation, operation);
  const BlockId handle = driver.handle(event.allocation);
  if (event.kind == EventKind::alloc && handle.has_value()) {
    begin(event.allocation, allocator.block(handle).size, operation);
  }
}

/// The first column whose moment is not before `operation`.
std::uint16_t BandRecorder::column_at(std::uint64_t operation) {
  while (next_column_ < columns_->moments.size() && columns_->moments[next_column_] < operation) {
    ++next_column_;
  }
  return next_column_;
}

void BandRecorder::begin(AllocationId id, Bytes size, std::uint64_t operation) {
  slots_[id.index()] = static_cast<std::uint32_t>(open_.size());
  open_.push_back({{.size = size, .allocation = id, .first = column_at(operation)}, operation});
}

void BandRecorder::end(AllocationId id, std::uint64_t operation) {
  const std::uint32_t slot = std::exchange(slots_[id.index()], kNoSlot);
  if (slot == kNoSlot) {
    return;
  }
  TimedBand band = std::exchange(open_[slot], open_.back());
  open_.pop_back();
  if (slot < open_.size()) {
    slots_[open_[slot].allocation.index()] = slot;
  }
  band.end = operation;
  band.last = column_at(operation);
  finish(band);
}

void BandRecorder::finish(const TimedBand& band) {
  if (band.first < band.last) {
    splitter_.add(band);
  } else {
    ++unseen_;
  }
}

SplitBands BandRecorder::take() {
  for (TimedBand& band : open_) {
    band.last = static_cast<std::uint16_t>(columns_->moments.size());
    finish(band);
  }
  open_.clear();
  return splitter_.take();
}

void BandSplitter::add(const TimedBand& band) {
  if (band.size < lowest_) {
    split_.summed.push_back(band);
    return;
  }
  split_.kept.push_back(band);
  if (split_.kept.size() > 2 * most_) {
    drop_lightest();
  }
}

void BandSplitter::drop_lightest() {
  if (split_.kept.size() <= most_) {
    return;
  }
  const auto end = split_.kept.begin() + static_cast<std::ptrdiff_t>(most_);
  std::ranges::nth_element(split_.kept, end, is_heavier);
  for (auto light = end; light != split_.kept.end(); ++light) {
    split_.summed.push_back(*light);
  }
  split_.kept.erase(end, split_.kept.end());
}

SplitBands BandSplitter::take() {
  drop_lightest();
  std::ranges::sort(split_.kept, is_older);
  return std::move(split_);
}

std::vector<BandSum> sum_bands(const ChunkedVector<Band>& bands, std::size_t columns,
                               const std::function<std::uint64_t(const Band&)>& group_of) {
  std::unordered_map<std::uint64_t, BandSum> sums;
  for (const Band& band : bands) {
    const std::uint64_t group = group_of(band);
    BandSum& sum = sums.try_emplace(group, BandSum{group, 0, 0, {}}).first->second;
    sum.changes.resize(columns + 1);
    sum.changes[band.first] += static_cast<std::int64_t>(band.size.count());
    sum.changes[band.last] -= static_cast<std::int64_t>(band.size.count());
    sum.area += band.area();
    ++sum.blocks;
  }
  std::vector<BandSum> list;
  for (auto& [group, sum] : sums) {
    sum.changes.resize(columns);
    list.push_back(std::move(sum));
  }
  std::ranges::sort(list, [](const BandSum& a, const BandSum& b) {
    return a.area != b.area ? a.area > b.area : a.group < b.group;
  });
  return list;
}

}  // namespace highwater
