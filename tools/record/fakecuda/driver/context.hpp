// The handles of primary contexts.
#pragma once

#include "tools/record/fakecuda/abi/driver.hpp"

namespace highwater::fakecuda {

constexpr abi::Handle kFirstContext = 0xc0de0000;

inline abi::Handle context_of_device(int device) {
  return kFirstContext + static_cast<abi::Handle>(device);
}

/// For a handle that is not a context, a number that is not a device.
inline int device_of_context(abi::Handle context) {
  return static_cast<int>(context - kFirstContext);
}

}  // namespace highwater::fakecuda
