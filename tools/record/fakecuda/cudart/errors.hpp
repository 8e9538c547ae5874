// The runtime's error state: each thread remembers its last failure.
#pragma once

#include "tools/record/fakecuda/abi/runtime.hpp"

namespace highwater::fakecuda {

/// Remembers the error for cudaGetLastError() and returns it.
abi::Error fail(abi::Error error);

}  // namespace highwater::fakecuda
