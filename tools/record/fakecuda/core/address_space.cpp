#include "tools/record/fakecuda/core/address_space.hpp"

#include <iterator>

namespace highwater::fakecuda {

std::optional<std::uint64_t> AddressSpace::take_hole(std::uint64_t size) {
  for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
    const auto [address, found] = *hole;
    if (found < size) {
      continue;
    }
    holes_.erase(hole);
    if (found > size) {
      holes_[address + size] = found - size;
    }
    return address;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> AddressSpace::take(std::uint64_t size, AddressOrder order) {
  if (order == AddressOrder::first_fit) {
    if (const auto hole = take_hole(size)) {
      return hole;
    }
  }
  if (size <= end_ - next_) {
    next_ += size;
    return next_ - size;
  }
  return take_hole(size);
}

void AddressSpace::give_back(std::uint64_t address, std::uint64_t size) {
  auto hole = holes_.emplace(address, size).first;
  if (const auto after = std::next(hole); after != holes_.end() && address + size == after->first) {
    hole->second += after->second;
    holes_.erase(after);
  }
  if (hole != holes_.begin()) {
    const auto before = std::prev(hole);
    if (before->first + before->second == hole->first) {
      before->second += hole->second;
      holes_.erase(hole);
    }
  }
}

}  // namespace highwater::fakecuda
