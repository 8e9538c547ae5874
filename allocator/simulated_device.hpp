// A device that exists only as counters: capacity, and addresses by a stated policy.
//
// It is the fake driver of the conformance vectors: a segment or page of N bytes takes exactly N;
// segments get addresses from 0x7f0000000000 and reservations from 0x6f0000000000 upward on 2 MiB
// boundaries. Without a capacity, nothing below 2^62 bytes fails, and total_memory() is 1 TiB,
// which determines the size of reservations.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>

#include "allocator/device.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// Hands out address ranges of one region, in units of 2 MiB.
class AddressSpace {
 public:
  AddressSpace(Address base, AddressPolicy policy) : policy_(policy), top_(base) {}

  Address take(Bytes size);
  void give_back(AddressRange range);

 private:
  AddressPolicy policy_;
  Address top_;  ///< nothing at or above it was ever handed out
  std::map<Address, Bytes>
      free_ranges_;  ///< lowest_fit only; no two are adjacent, and none touches top_
};

/// How much of a device is taken, by one process or by several that share it.
class DeviceMemory {
 public:
  /// Without a capacity it is unlimited.
  explicit DeviceMemory(std::optional<Bytes> capacity) : capacity_(capacity) {}

  /// False, and nothing is taken, if less is free.
  bool take(Bytes size);

  void give_back(Bytes size) { used_ -= size; }

  [[nodiscard]] Bytes total() const;

  [[nodiscard]] Bytes free() const { return total() - std::min(total(), used_); }

  [[nodiscard]] Bytes used() const { return used_; }

  [[nodiscard]] Bytes peak_used() const { return peak_used_; }

 private:
  std::optional<Bytes> capacity_;
  Bytes used_;
  Bytes peak_used_;
};

class SimulatedDevice : public Device {
 public:
  struct Config {
    std::optional<Bytes> capacity;  ///< absent: unlimited
    AddressPolicy addresses = AddressPolicy::never_reuse;
  };

  explicit SimulatedDevice(const Config& config);

  /// The device as one of the processes that share `memory` sees it: addresses are its own.
  SimulatedDevice(std::shared_ptr<DeviceMemory> memory, AddressPolicy addresses);

  std::optional<Address> allocate(Bytes size) override;
  void free(AddressRange segment) override;
  Address reserve(const ReservationRequest& request) override;
  void unreserve(AddressRange reservation) override;
  bool map(AddressRange range, Bytes page) override;
  void unmap(AddressRange range) override;
  [[nodiscard]] Bytes free_memory() const override;
  [[nodiscard]] Bytes total_memory() const override;

  [[nodiscard]] Bytes used() const { return memory_->used(); }

  [[nodiscard]] Bytes peak_used() const { return memory_->peak_used(); }

 private:
  std::shared_ptr<DeviceMemory> memory_;
  AddressSpace segments_;
  AddressSpace reservations_;
};

}  // namespace highwater
