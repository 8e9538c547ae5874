// The handles of primary contexts.
#pragma once

#include "tools/record/fakecuda/abi/driver.hpp"

namespace highwater::fakecuda {

constexpr abi::Handle kFirstContext = 0xc0de0000;

inline abi::Handle context_of_device(int device) {
  return kFirstContext + static_cast<abi::Handle>(device);
}

/// A number that is no device for a handle that is no context.
inline int device_of_context(abi::Handle context) {
  return static_cast<int>(context - kFirstContext);
}

}  // namespace highwater::fakecuda
