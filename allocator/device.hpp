// The device as the allocator sees it: only the driver calls that the allocator makes.
//
// Capacity, addresses and failures are decided behind this interface, so tests can make the n-th
// call fail and a recording can answer with the addresses it saw.
#pragma once

#include <optional>

#include "allocator/size_policy.hpp"
#include "traces/address.hpp"
#include "traces/ids.hpp"
#include "traces/units.hpp"

namespace highwater {

/// Who a reservation of address space is for.
struct ReservationRequest {
  Bytes size;
  PoolKind kind = PoolKind::large;
  StreamId stream;
  PoolId owner;  ///< the private pool, {0, 0} for the common pools
};

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// cudaMalloc: nothing if the device has too little memory.
  virtual std::optional<Address> allocate(Bytes size) = 0;
  /// cudaFree of an address that allocate() returned.
  virtual void free(AddressRange segment) = 0;

  /// cuMemAddressReserve: address space only, never fails.
  virtual Address reserve(const ReservationRequest& request) = 0;
  /// cuMemAddressFree of a whole reservation.
  virtual void unreserve(AddressRange reservation) = 0;

  /// cuMemCreate and cuMemMap of every page of `range`; all of it or, on failure, nothing.
  virtual bool map(AddressRange range, Bytes page) = 0;
  virtual void unmap(AddressRange range) = 0;

  /// How much garbage collection must reclaim now, if that is known instead of the memory limit: a
  /// recording shows what was collected but not the limit. Nothing for all other devices.
  [[nodiscard]] virtual std::optional<Bytes> recorded_reclaim() const { return std::nullopt; }

  /// cudaMemGetInfo.
  [[nodiscard]] virtual Bytes free_memory() const = 0;
  [[nodiscard]] virtual Bytes total_memory() const = 0;
};

}  // namespace highwater
