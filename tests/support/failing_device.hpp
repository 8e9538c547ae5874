// A simulated device on which chosen calls fail although there is room for them.
//
// Only cudaMalloc and the mapping of pages can fail (see allocator/device.hpp); calls of each kind
// are numbered from 1, those that fail included. Without a fault it is the simulated device.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "allocator/simulated_device.hpp"

namespace highwater {

enum class DeviceCall : std::uint8_t { allocate, map };

/// The calls `first` to `first + count - 1` of one kind fail.
struct DeviceFault {
  DeviceCall call = DeviceCall::allocate;
  std::uint64_t first = 1;
  std::uint64_t count = 1;
};

class FailingDevice : public SimulatedDevice {
 public:
  FailingDevice(const Config& config, std::optional<DeviceFault> fault)
      : SimulatedDevice(config), fault_(fault) {}

  std::optional<Address> allocate(Bytes size) override {
    return fails(DeviceCall::allocate) ? std::nullopt : SimulatedDevice::allocate(size);
  }

  bool map(AddressRange range, Bytes page) override {
    return !fails(DeviceCall::map) && SimulatedDevice::map(range, page);
  }

  /// How many calls of this kind were made so far.
  [[nodiscard]] std::uint64_t calls(DeviceCall call) const {
    return calls_.at(static_cast<std::size_t>(call));
  }

 private:
  bool fails(DeviceCall call) {
    const std::uint64_t number = ++calls_.at(static_cast<std::size_t>(call));
    return fault_ && fault_->call == call && number >= fault_->first &&
           number < fault_->first + fault_->count;
  }

  std::optional<DeviceFault> fault_;
  std::array<std::uint64_t, 2> calls_{};
};

}  // namespace highwater
