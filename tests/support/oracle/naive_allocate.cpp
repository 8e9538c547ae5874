// Search, split, new segments and running out of memory: rules 1 to 5.
#include <iterator>

#include "tests/support/oracle/naive_allocator.hpp"

namespace highwater::oracle {
namespace {

bool divides_evenly(Bytes size, std::uint64_t step) {
  return size.count() % step == 0;
}

Bytes naive_round(Bytes size, const Settings& settings) {
  if (size.count() < 512) {
    return Bytes{512};
  }
  std::uint64_t power = 512;  // largest power of two that is not above size
  int log2 = 9;
  while (power <= size.count() / 2) {
    power *= 2;
    ++log2;
  }
  const int entry = log2 < 20 ? 0 : log2 > 35 ? 15 : log2 - 20;
  const std::uint64_t divisions =
      settings.roundup_power2_divisions[static_cast<std::size_t>(entry)];
  if (divisions > 1 && size.count() > 512 * divisions) {
    const std::uint64_t step = power / divisions;
    return divides_evenly(size, step) ? size : Bytes{(size.count() / step + 1) * step};
  }
  return divides_evenly(size, 512) ? size : Bytes{(size.count() / 512 + 1) * 512};
}

Bytes naive_segment_size(Bytes rounded, const Settings& settings) {
  constexpr std::uint64_t kMiB = 1024 * 1024;
  if (rounded.count() <= kMiB) {
    return Bytes{2 * kMiB};
  }
  if (rounded.count() < 10 * kMiB) {
    return settings.large_segment_size;
  }
  return Bytes{(rounded.count() + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB)};
}

/// For the expandable walk: what a block can grow to.
Bytes expandable_size(const NaiveBlock* block) {
  const bool can_grow = block->next != nullptr && !block->next->mapped;
  return block->size + (can_grow ? block->next->size : Bytes{});
}

}  // namespace

NaiveAllocator::NaiveAllocator(Device& device, const Settings& settings,
                               const VersionPreset& version)
    : device_(&device), settings_(settings), version_(&version) {
  if (settings.per_process_memory_fraction) {
    set_memory_fraction(*settings.per_process_memory_fraction);
  }
}

NaiveAllocator::~NaiveAllocator() {
  for (const auto& [address, first] : segments_) {
    delete first->reservation;
    for (NaiveBlock* block = first; block != nullptr;) {
      delete std::exchange(block, block->next);
    }
  }
}

void NaiveAllocator::set_memory_fraction(double fraction) {
  const double total = static_cast<double>(device_->total_memory().count());
  const bool limits = version_->fraction == FractionRule::any_value || fraction < 1.0;
  allowed_ =
      limits ? std::optional(Bytes{static_cast<std::uint64_t>(fraction * total)}) : std::nullopt;
}

NaiveResult NaiveAllocator::allocate(Bytes size, StreamId stream) {
  if (size == Bytes{}) {
    return {};
  }
  if (sessions_.empty()) {
    process_events();
  }
  const Bytes rounded = naive_round(size, settings_);
  const Request request{size, rounded, naive_segment_size(rounded, settings_), stream,
                        pool_for(rounded)};
  NaiveBlock* block = find_free(request);
  if (block == nullptr) {
    block = find_new(request);
  }
  if (block == nullptr) {
    return out_of_memory(request);
  }
  return {AllocationStatus::ok, hand_out(request, block)};
}

NaiveBlock* NaiveAllocator::find_free(const Request& request) {
  NaivePool& pool = *request.pool;
  if (gc_is_active()) {
    ++pool.searches;
  }
  NaiveBlock key;
  key.stream = request.stream;
  key.size = request.size;
  const auto is_candidate = [&](auto it) {
    return it != pool.blocks.end() && (*it)->stream == request.stream;
  };
  auto it = pool.blocks.lower_bound(&key);
  if (!is_candidate(it)) {
    return nullptr;
  }
  if ((*it)->reservation != nullptr) {
    if (settings_.expandable_segments) {
      for (auto next = std::next(it); (*it)->reservation != nullptr && is_candidate(next) &&
                                      expandable_size(*next) < expandable_size(*it);) {
        it = next++;
      }
    } else {
      do {
        ++it;
      } while (is_candidate(it) && (*it)->reservation != nullptr);
      if (!is_candidate(it)) {
        return nullptr;
      }
    }
  }
  NaiveBlock* const block = *it;
  const Bytes limit = settings_.max_split_size;
  if (request.size < limit && block->size >= limit) {
    return nullptr;
  }
  if (request.size >= limit &&
      block->size >= request.size + settings_.max_non_split_rounding_size) {
    return nullptr;
  }
  pool.blocks.erase(it);
  return block;
}

NaiveBlock* NaiveAllocator::find_new(const Request& request) {
  if (gc_is_active()) {
    collect_garbage();
  }
  NaiveBlock* block = new_segment(request);
  if (block == nullptr && release_oversize(request)) {
    block = new_segment(request);
  }
  if (block == nullptr && sessions_.empty()) {
    release_cached();
    ++stats_.counters.num_alloc_retries;
    block = new_segment(request);
  }
  return block;
}

NaiveBlock* NaiveAllocator::new_segment(const Request& request) {
  if (allowed_ && held_ + request.segment > *allowed_) {
    return nullptr;
  }
  return settings_.expandable_segments ? grow(request) : new_fixed_segment(request);
}

NaiveBlock* NaiveAllocator::new_fixed_segment(const Request& request) {
  const auto address = device_->allocate(request.segment);
  if (!address) {
    return nullptr;
  }
  auto* const block = new NaiveBlock;
  block->address = *address;
  block->size = request.segment;
  block->stream = request.stream;
  block->pool = request.pool;
  block->segment_age = next_segment_age();
  segments_.emplace(*address, block);
  held_ += request.segment;
  if (request.pool->owner != nullptr) {
    ++request.pool->owner->segments;
  }
  stats_.change(Stat::segment, request.pool->kind, 1);
  stats_.increase(Stat::reserved_bytes, request.pool->kind, request.segment);
  if (request.segment >= settings_.max_split_size) {
    stats_.oversize_segments.change(1);
  }
  ++stats_.counters.num_device_alloc;
  decide(RecordedAction::segment_alloc, *address, request.segment, request.stream);
  return block;
}

NaiveBlock* NaiveAllocator::hand_out(const Request& request, NaiveBlock* block) {
  const PoolKind kind = request.pool->kind;
  const Bytes remaining = block->size - request.size;
  const bool was_split = block->is_split();
  const bool is_fixed = block->reservation == nullptr;
  const bool is_cut = kind == PoolKind::small || settings_.expandable_segments
                          ? remaining.count() >= 512
                          : request.size < settings_.max_split_size && remaining > Bytes{1 << 20};
  if (is_cut) {
    NaiveBlock* const rest = split(block, request.size);
    insert_free(rest);
    if (is_fixed && was_split) {
      stats_.decrease(Stat::inactive_split_bytes, kind, block->size);
    } else if (is_fixed) {
      stats_.change(Stat::inactive_split, kind, 1);
      stats_.increase(Stat::inactive_split_bytes, kind, rest->size);
    }
  } else if (is_fixed && was_split) {
    stats_.change(Stat::inactive_split, kind, -1);
    stats_.decrease(Stat::inactive_split_bytes, kind, block->size);
  }
  block->allocated = true;
  block->requested = request.asked;
  decide(RecordedAction::alloc, block->address, request.asked, block->stream);
  stats_.change(Stat::allocation, kind, 1);
  stats_.increase(Stat::allocated_bytes, kind, block->size);
  stats_.change(Stat::active, kind, 1);
  stats_.increase(Stat::active_bytes, kind, block->size);
  stats_.increase(Stat::requested_bytes, kind, request.asked);
  if (block->size >= settings_.max_split_size) {
    stats_.oversize_allocations.change(1);
  }
  return block;
}

/// Cuts `block` to `size`; returns the rest, which follows it.
NaiveBlock* NaiveAllocator::split(NaiveBlock* block, Bytes size) {
  auto* const rest = new NaiveBlock;
  rest->address = block->address + size;
  rest->size = block->size - size;
  rest->stream = block->stream;
  rest->pool = block->pool;
  rest->reservation = block->reservation;
  rest->segment_age = block->segment_age;
  rest->mapped = block->mapped;
  rest->prev = block;
  rest->next = block->next;
  if (rest->next != nullptr) {
    rest->next->prev = rest;
  }
  block->next = rest;
  block->size = size;
  return rest;
}

NaiveResult NaiveAllocator::out_of_memory(const Request& request) {
  const Address device_free{device_->free_memory().count()};
  decide(RecordedAction::oom, device_free, request.size, request.stream);
  ++stats_.counters.num_ooms;
  return {AllocationStatus::out_of_memory, nullptr};
}

}  // namespace highwater::oracle
