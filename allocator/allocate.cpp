// Allocation: search, split, and the ladder of attempts that ends in out of memory.
// Source: DeviceCachingAllocator::malloc, get_free_block, alloc_block, alloc_found_block of
// c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6.0.
#include <algorithm>
#include <utility>

#include "allocator/caching_allocator.hpp"

namespace highwater {
namespace {

/// A free block as best fit sees it: a block at the growing end counts with the size it can grow
/// to.
Bytes expandable_size(const BlockStore& blocks, const Block& block) {
  const bool can_grow = block.next.has_value() && !blocks[block.next].mapped;
  return can_grow ? block.size + blocks[block.next].size : block.size;
}

/// The best block from `entry` on if expandable segments are on: the tail that can grow is taken
/// last.
const FreeEntry* prefer_not_growing(const FreeList& list, const BlockStore& blocks,
                                    const FreeEntry* entry) {
  while (blocks[entry->block].is_expandable()) {
    const FreeEntry* const next = list.next(*entry);
    if (next == nullptr || expandable_size(blocks, blocks[next->block]) >=
                               expandable_size(blocks, blocks[entry->block])) {
      break;
    }
    entry = next;
  }
  return entry;
}

/// The first block after the expandable `entry` that is not expandable, since the option is now
/// off.
const FreeEntry* skip_expandable(const FreeList& list, const BlockStore& blocks,
                                 const FreeEntry* entry) {
  while (entry != nullptr && blocks[entry->block].is_expandable()) {
    entry = list.next(*entry);
  }
  return entry;
}

}  // namespace

CachingAllocator::CachingAllocator(Device& device, const Settings& settings,
                                   const VersionPreset& version)
    : device_(&device), settings_(settings), version_(&version), ranks_(version.ties) {
  if (settings.per_process_memory_fraction) {
    set_memory_fraction(*settings.per_process_memory_fraction);
  }
}

void CachingAllocator::set_memory_fraction(double fraction) {
  if (version_->fraction == FractionRule::below_one && fraction >= 1.0) {
    allowed_.reset();
    return;
  }
  const double total = static_cast<double>(device_->total_memory().count());
  allowed_ = Bytes{static_cast<std::uint64_t>(fraction * total)};
}

CachingAllocator::Request CachingAllocator::make_request(Bytes size, StreamId stream) {
  const Bytes rounded = round_size(size, settings_);
  return {size, rounded, stream, &pool_for(rounded).of(stream), settings_.expandable_segments};
}

// Flattened, because calling the small functions below would take a tenth of an operation's time.
[[gnu::flatten]] AllocationResult CachingAllocator::allocate(Bytes size, StreamId stream) {
  if (size.count() == 0) {
    return {};
  }
  if (size > kLargestRequest) [[unlikely]] {
    return {AllocationStatus::out_of_memory, BlockId::none()};
  }
  if (!is_held_back()) {
    process_events();
  }
  Request request = make_request(size, stream);
  BlockId block = take_cached(request);
  if (!block.has_value()) {
    block = climb_ladder(request);
    if (!block.has_value()) {
      return fail(request);
    }
  }
  return {AllocationStatus::ok, hand_out(request, block)};
}

// The rest of a block that was split is the best fit for the next of the same size: every other
// free block that is large enough is no smaller than the whole was. So one after the other they
// fill the block that serves the first of them.
Bytes CachingAllocator::allocate_equal(EqualBlocks wanted, std::vector<BlockId>& blocks) {
  const auto asked_by = [asked = wanted.asked, of = wanted.count](std::uint64_t count) {
    return Bytes{asked.count() / of * count + (asked.count() % of * count + of - 1) / of};
  };
  if (!is_held_back()) {
    process_events();
  }
  std::uint64_t served = 0;
  while (served < wanted.count) {
    Request request = make_request(asked_by(1), wanted.stream);
    BlockId block = take_cached(request);
    if (!block.has_value()) {
      block = climb_ladder(request);
    }
    if (!block.has_value()) {
      fail(request);
      break;
    }
    const std::uint64_t taken = std::min(wanted.count - served, equal_blocks_in(request, block));
    request.size = Bytes{request.size.count() * taken};
    request.asked = asked_by(served + taken) - asked_by(served);
    request.cache->pool->search_count += garbage_collection_active() ? taken - 1 : 0;
    blocks.push_back(hand_out(request, block));
    served += taken;
  }
  return asked_by(served);
}

/// How many of the size of `request` the free block `id` serves. Those of the large pool may be
/// handed out with more than that, so one is taken at a time.
std::uint64_t CachingAllocator::equal_blocks_in(const Request& request, BlockId id) const {
  const Bytes rest = blocks_[id].size - request.size;
  const bool is_small = request.cache->kind == PoolKind::small;
  return is_small && splits(request, rest) ? blocks_[id].size.count() / request.size.count() : 1;
}

bool CachingAllocator::would_hit_cache(Bytes size, StreamId stream) {
  return size.count() == 0 || find_cached(make_request(size, stream)) != nullptr;
}

[[gnu::flatten]] bool CachingAllocator::touch(Bytes size, StreamId stream) {
  if (size.count() == 0 || size > kLargestRequest || !can_come_back() || listener_ != nullptr ||
      is_held_back()) {
    return false;
  }
  process_events();
  const Request request = make_request(size, stream);
  const FreeEntry* const found = find_cached(request);
  if (found == nullptr || Bytes{found->size} >= settings_.max_split_size) {
    return false;
  }
  const Bytes remaining = Bytes{found->size} - request.size;
  const Bytes taken = splits(request, remaining) ? request.size : Bytes{found->size};
  stats_.hand_out(request.cache->kind, taken, size);
  stats_.free_at_once(request.cache->kind, taken, size);
  return true;
}

/// Best fit, or nothing: only one candidate is considered, and it may be refused.
const FreeEntry* CachingAllocator::find_cached(const Request& request) const {
  const FreeList& list = request.cache->free;
  const FreeEntry* entry = list.lower_bound(request.size);
  if (entry != nullptr && blocks_[entry->block].is_expandable()) {
    entry = request.is_expandable ? prefer_not_growing(list, blocks_, entry)
                                  : skip_expandable(list, blocks_, entry);
  }
  if (entry == nullptr || refused_as_oversize(request.size, Bytes{entry->size})) {
    return nullptr;
  }
  return entry;
}

bool CachingAllocator::refused_as_oversize(Bytes size, Bytes candidate) const {
  if (size < settings_.max_split_size) {
    return candidate >= settings_.max_split_size;
  }
  return candidate >= size + settings_.max_non_split_rounding_size;
}

BlockId CachingAllocator::take_cached(const Request& request) {
  if (garbage_collection_active()) {
    ++request.cache->pool->search_count;
  }
  const FreeEntry* const found = find_cached(request);
  if (found == nullptr) {
    return BlockId::none();
  }
  const FreeEntry taken = *found;  // the next line invalidates it
  request.cache->free.erase(taken);
  return taken.block;
}

BlockId CachingAllocator::climb_ladder(Request& request) {
  if (garbage_collection_active()) {
    collect_garbage();
  }
  BlockId block = new_segment(request, Attempt::first);
  if (!block.has_value()) {
    block = take_from_oom_pools(request);
  }
  if (!block.has_value() && release_oversize(request)) {
    block = new_segment(request, Attempt::first);
  }
  if (!block.has_value() && !is_held_back()) {
    release_all_cached();
    block = new_segment(request, Attempt::retry);
  }
  return block;
}

/// The request goes on as one that expandable segments do not serve, whatever the settings say
/// (try_mempool_fallback of c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.15).
BlockId CachingAllocator::take_from_oom_pools(Request& request) {
  StreamCache* const wanted = request.cache;
  if (wanted->pool->is_private()) {
    return BlockId::none();
  }
  const bool was_expandable = std::exchange(request.is_expandable, false);
  for (const PoolId id : pools_for_oom()) {
    request.cache = &private_pools_.at(id).pools->of(wanted->kind).of(request.stream);
    const BlockId block = take_cached(request);
    if (block.has_value()) {
      return block;
    }
  }
  request.cache = wanted;
  request.is_expandable = was_expandable;
  return BlockId::none();
}

BlockId CachingAllocator::new_segment(const Request& request, Attempt attempt) {
  if (attempt == Attempt::retry) {
    ++stats_.counters.num_alloc_retries;
  }
  if (allowed_ && held_ + segment_size(request.size, settings_) > *allowed_) {
    return BlockId::none();  // by the full size, even if an expandable segment would map less
  }
  const BlockId block =
      settings_.expandable_segments ? grow_expandable(request) : new_fixed_segment(request);
  if (block.has_value() && request.cache->pool->is_private()) {
    ++private_pools_.at(request.cache->pool->owner).device_uses;
  }
  return block;
}

BlockId CachingAllocator::new_fixed_segment(const Request& request) {
  const Bytes size = segment_size(request.size, settings_);
  const std::optional<Address> address = device_->allocate(size);
  if (!address) {
    return BlockId::none();
  }
  Block block;
  block.address = *address;
  block.size = size;
  block.home = request.cache;
  block.rank = ranks_.of_segment({block.address, block.size});
  stats_.increase(Stat::segment, block.kind(), 1);
  if (block.size >= settings_.max_split_size) {
    stats_.oversize_segments.change(1);
  }
  account_new_memory(block, block.size);
  decide(RecordedAction::segment_alloc, block.address, block.size, block.stream());
  return blocks_.add(block);
}

bool CachingAllocator::splits(const Request& request, Bytes remaining) const {
  return should_split(request.cache->kind, request.size, remaining,
                      SplitRule{settings_.max_split_size, request.is_expandable}) &&
         !is_no_split(*request.cache->pool);
}

BlockId CachingAllocator::hand_out(const Request& request, BlockId id) {
  const bool was_split = blocks_[id].is_split();
  const bool is_expandable = blocks_[id].is_expandable();
  const Bytes remaining = blocks_[id].size - request.size;
  const PoolKind kind = request.cache->kind;
  if (splits(request, remaining)) {
    split(id, request.size);
    if (!is_expandable) {
      if (was_split) {
        stats_.decrease(Stat::inactive_split_bytes, kind, request.size);
      } else {
        stats_.increase(Stat::inactive_split_bytes, kind, remaining);
        stats_.increase(Stat::inactive_split, kind, 1);
      }
    }
  } else if (was_split && !is_expandable) {
    stats_.decrease(Stat::inactive_split_bytes, kind, blocks_[id].size);
    stats_.decrease(Stat::inactive_split, kind, 1);
  }
  Block& block = blocks_[id];
  block.state = BlockState::active_allocated;
  block.requested = request.asked;
  account_handed_out(block);
  decide(RecordedAction::alloc, block.address, block.requested, block.stream());
  return id;
}

/// Splits `id` after its first `size` bytes, caches the rest and returns it.
BlockId CachingAllocator::split(BlockId id, Bytes size) {
  const BlockId rest_id = blocks_.add_copy(id);
  Block& rest = blocks_[rest_id];
  ranks_.split(blocks_[id].rank, rest.rank, size);
  rest.address = rest.address + size;
  rest.size -= size;
  rest.prev = id;
  blocks_[id].size = size;
  blocks_.link(rest_id);
  cache(rest_id);
  return rest_id;
}

void CachingAllocator::account_handed_out(const Block& block) {
  stats_.hand_out(block.kind(), block.size, block.requested);
  if (block.size >= settings_.max_split_size) {
    stats_.oversize_allocations.change(1);
  }
}

AllocationResult CachingAllocator::fail(const Request& request) {
  last_oom_ = account_of_failure(request);
  ++stats_.counters.num_ooms;
  decide(RecordedAction::oom, Address{last_oom_.device_free.count()}, request.size, request.stream);
  return {AllocationStatus::out_of_memory, BlockId::none()};
}

}  // namespace highwater
