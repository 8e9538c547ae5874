#include "workloads/eager/host_memory.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace highwater {
namespace {

std::size_t size_index(std::int64_t pinned_bytes) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(pinned_bytes)));
}

constexpr std::size_t kSizes = 64;  // MAX_SIZE_INDEX

std::int64_t sum_of(const std::vector<HostBuffers>& buffers, bool is_pinned) {
  std::int64_t sum = 0;
  for (const HostBuffers& kind : buffers) {
    sum += kind.is_pinned == is_pinned ? kind.taken : 0;
  }
  return sum;
}

}  // namespace

std::int64_t pinned_size(std::int64_t bytes) {
  return bytes == 0 ? 0
                    : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
}

std::int64_t HostAccount::requested() const {
  return std::accumulate(
      buffers.begin(), buffers.end(), std::int64_t{0},
      [](std::int64_t sum, const HostBuffers& kind) { return sum + kind.requested; });
}

std::int64_t HostAccount::pinned() const {
  return sum_of(buffers, true) + cached;
}

std::int64_t HostAccount::pageable() const {
  return sum_of(buffers, false);
}

HostBlock HostMemory::allocate(std::int64_t bytes, HostKind kind, std::string_view what) {
  const Block block{.kind = number_of(what, kind), .bytes = bytes};
  if (kind == HostKind::pinned && bytes > 0) {
    free_.resize(kSizes);
    const std::int64_t size = pinned_size(bytes);
    std::uint64_t& unused = free_[size_index(size)];
    if (unused > 0) {
      --unused;
      now_.cached -= size;
    } else {
      pinned_blocks_.push_back(size);
    }
  }
  count(block, 1);
  blocks_.push_back(block);
  return blocks_.size() - 1;
}

void HostMemory::lock(std::int64_t bytes, std::string_view what) {
  constexpr std::int64_t kPage = 4096;
  HostBuffers& kind = now_.buffers[number_of(what, HostKind::pinned)];
  kind.requested += bytes;
  kind.taken += (bytes + kPage - 1) / kPage * kPage;
  ++kind.blocks;
}

// Memory only grows between two frees, so the highest moment is right before one of them.
void HostMemory::free(HostBlock number) {
  if (is_above_highest()) {
    highest_ = now_;
  }
  const Block& block = blocks_[number];
  count(block, -1);
  if (now_.buffers[block.kind].is_pinned && block.bytes > 0) {
    const std::int64_t size = pinned_size(block.bytes);
    ++free_[size_index(size)];
    now_.cached += size;
  }
}

void HostMemory::label(HostBlock number, std::string_view what) {
  Block& block = blocks_[number];
  const HostKind kind = now_.buffers[block.kind].is_pinned ? HostKind::pinned : HostKind::pageable;
  count(block, -1);
  block.kind = number_of(what, kind);
  count(block, 1);
}

HostAccount HostMemory::account() const {
  HostAccount result = is_above_highest() ? now_ : highest_;
  std::erase_if(result.buffers, [](const HostBuffers& kind) { return kind.blocks == 0; });
  return result;
}

HostAccount HostMemory::next_account() {
  HostAccount result = account();
  highest_ = now_;
  return result;
}

std::size_t HostMemory::number_of(std::string_view what, HostKind kind) {
  const auto found = std::ranges::find_if(now_.buffers, [&](const HostBuffers& each) {
    return each.what == what && each.is_pinned == (kind == HostKind::pinned);
  });
  const auto index = static_cast<std::size_t>(found - now_.buffers.begin());
  if (found == now_.buffers.end()) {
    now_.buffers.push_back({.what = std::string(what), .is_pinned = kind == HostKind::pinned});
  }
  return index;
}

std::int64_t HostMemory::taken_by(const Block& block) const {
  return now_.buffers[block.kind].is_pinned ? pinned_size(block.bytes) : block.bytes;
}

void HostMemory::count(const Block& block, int sign) {
  HostBuffers& kind = now_.buffers[block.kind];
  kind.requested += sign * block.bytes;
  kind.taken += sign * taken_by(block);
  kind.blocks += static_cast<std::uint64_t>(sign);
}

bool HostMemory::is_above_highest() const {
  return std::pair(now_.taken(), -now_.cached) > std::pair(highest_.taken(), -highest_.cached);
}

}  // namespace highwater
