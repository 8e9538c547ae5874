// The one lock of the fake device's state.
//
// Fake calls take some tens of nanoseconds, so one lock for everything costs little. It is held
// across fork(): a child (a DataLoader worker) finds consistent state and a free lock.
#pragma once

#include <mutex>

namespace highwater::fakecuda {

/// Holds the state until the result is destroyed; not to be taken twice by a thread.
[[nodiscard]] std::unique_lock<std::mutex> hold_state();

}  // namespace highwater::fakecuda
