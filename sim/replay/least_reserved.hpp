// What a replay reserves at least, known from its requests alone.
//
// A block is never smaller than its request rounded as the settings say (round_size, size_policy),
// and what is reserved holds all live blocks. So the most bytes of rounded requests that are live
// at once bound what a replay reserves that serves every request: with less memory one of them
// fails.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "allocator/settings/settings.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

/// Absent where the trace itself changes the settings.
std::optional<Bytes> least_reserved(const RequestTrace& trace, const Settings& settings);

/// The same of one trace under many settings, once for each way to round. On any thread.
class LeastReserved {
 public:
  std::optional<Bytes> of(const RequestTrace& trace, const Settings& settings);

 private:
  using Rounding = decltype(Settings::roundup_power2_divisions);

  std::mutex mutex_;
  std::map<Rounding, std::optional<Bytes>> known_;
};

}  // namespace highwater
