// The full report of a failed allocation: an outcome of the simulation, not an error.
#pragma once

#include <vector>

#include "allocator/size_policy.hpp"
#include "traces/ids.hpp"
#include "traces/units.hpp"

namespace highwater {

/// What one pool holds on one stream at the moment of the failure.
struct PoolAccount {
  PoolId owner;
  PoolKind kind = PoolKind::large;
  StreamId stream;
  Bytes reserved;
  Bytes allocated;
  Bytes pending_free;  ///< freed by the program, waiting for other streams
  Bytes free;          ///< cached
  Bytes largest_free_block;
};

struct OutOfMemory {
  Bytes requested;
  Bytes rounded;
  Bytes segment_size;  ///< what was requested from the device
  StreamId stream;
  Bytes device_free;
  Bytes device_total;
  Bytes allowed;  ///< the limit by fraction, or kUnlimited
  Bytes reserved;
  Bytes allocated;
  Bytes active;
  Bytes largest_free_block;         ///< over all pools and streams
  Bytes largest_usable_free_block;  ///< in the pool and stream of the request
  std::vector<PoolAccount> pools;
};

}  // namespace highwater
