#include "allocator/simulated_device.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace highwater {
namespace {

constexpr Bytes kAddressUnit{2 << 20};
constexpr Address kFirstSegment{0x7f0000000000};
constexpr Address kFirstReservation{0x6f0000000000};
constexpr Bytes kAddressable{std::uint64_t{1} << 62};  ///< even an unlimited device ends somewhere
constexpr Bytes kUnlimitedTotal{std::uint64_t{1} << 40};

}  // namespace

Address AddressSpace::take(Bytes size) {
  const Bytes taken = round_up(size, kAddressUnit);
  const auto fit =
      std::ranges::find_if(free_ranges_, [&](const auto& range) { return range.second >= taken; });
  if (fit == free_ranges_.end()) {
    const Address address = top_;
    top_ = top_ + taken;
    return address;
  }
  const auto [address, room] = *fit;
  free_ranges_.erase(fit);
  if (room > taken) {
    free_ranges_.emplace(address + taken, room - taken);
  }
  return address;
}

void AddressSpace::give_back(AddressRange range) {
  if (policy_ == AddressPolicy::never_reuse) {
    return;
  }
  AddressRange freed{range.begin, round_up(range.size, kAddressUnit)};
  const auto behind = free_ranges_.find(freed.end());
  if (behind != free_ranges_.end()) {
    freed.size += behind->second;
    free_ranges_.erase(behind);
  }
  const auto after = free_ranges_.lower_bound(freed.begin);
  if (after != free_ranges_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == freed.begin) {
      freed = {before->first, before->second + freed.size};
      free_ranges_.erase(before);
    }
  }
  if (freed.end() == top_) {
    top_ = freed.begin;
  } else {
    free_ranges_.emplace(freed.begin, freed.size);
  }
}

bool DeviceMemory::take(Bytes size) {
  const Bytes end = capacity_.value_or(kAddressable);
  if (size > end - std::min(end, used_)) {
    return false;
  }
  used_ += size;
  peak_used_ = std::max(peak_used_, used_);
  return true;
}

Bytes DeviceMemory::total() const {
  return capacity_.value_or(kUnlimitedTotal);
}

SimulatedDevice::SimulatedDevice(const Config& config)
    : SimulatedDevice(std::make_shared<DeviceMemory>(config.capacity), config.addresses) {}

SimulatedDevice::SimulatedDevice(std::shared_ptr<DeviceMemory> memory, AddressPolicy addresses)
    : memory_(std::move(memory)),
      segments_(kFirstSegment, addresses),
      reservations_(kFirstReservation, addresses) {}

std::optional<Address> SimulatedDevice::allocate(Bytes size) {
  if (!memory_->take(size)) {
    return std::nullopt;
  }
  return segments_.take(size);
}

void SimulatedDevice::free(AddressRange segment) {
  memory_->give_back(segment.size);
  segments_.give_back(segment);
}

Address SimulatedDevice::reserve(const ReservationRequest& request) {
  return reservations_.take(request.size);
}

void SimulatedDevice::unreserve(AddressRange reservation) {
  reservations_.give_back(reservation);
}

bool SimulatedDevice::map(AddressRange range, Bytes page) {
  for (Bytes mapped; mapped < range.size; mapped += page) {
    if (!memory_->take(page)) {
      memory_->give_back(mapped);
      return false;
    }
  }
  return true;
}

void SimulatedDevice::unmap(AddressRange range) {
  memory_->give_back(range.size);
}

Bytes SimulatedDevice::free_memory() const {
  return memory_->free();
}

Bytes SimulatedDevice::total_memory() const {
  return memory_->total();
}

}  // namespace highwater
