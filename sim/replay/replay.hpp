// Replays a request trace through the allocator model under any settings.
#pragma once

#include <memory>
#include <optional>

#include "allocator/caching_allocator.hpp"
#include "allocator/settings/settings.hpp"
#include "allocator/settings/version.hpp"
#include "sim/replay/replay_result.hpp"
#include "sim/replay/trace_driver.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

enum class DecisionDetail { none, keep };

/// What happens when an allocation ran out of memory: PyTorch raises, most programs end there.
enum class AfterOom { go_on, stop };

/// What is done with steps that repeat exactly. The result is the same.
enum class RepeatedSteps {
  counted,  ///< instead of carried out, unless somebody watches each event or decision
  carried_out,
};

struct Neighbour;

/// Sees every event of a replay once it is carried out.
class ReplayObserver {
 public:
  ReplayObserver() = default;
  ReplayObserver(const ReplayObserver&) = delete;
  ReplayObserver& operator=(const ReplayObserver&) = delete;
  virtual ~ReplayObserver() = default;

  /// Before the first event. Both live until the replay returns: given the driver's handle of an
  /// allocation, the allocator knows where its block is.
  virtual void on_begin(const CachingAllocator& /*allocator*/, const TraceDriver& /*driver*/) {}

  /// Markers included; `status` matters for allocations only.
  virtual void on_event(const Event& event, AllocationStatus status,
                        const Statistics& statistics) = 0;
};

struct ReplayOptions {
  Settings settings;
  const VersionPreset* version = nullptr;  ///< never null when replaying
  std::optional<Bytes> capacity;           ///< device memory; absent = unlimited
  std::optional<double> fraction;          ///< per-process memory fraction of the capacity
  std::optional<Bytes> memory_limit;       ///< the same limit in bytes; wins over the fraction
  MemoryLimits limits = MemoryLimits::of_the_trace;  ///< those that the program sets itself, too
  AddressPolicy addresses = AddressPolicy::never_reuse;
  DecisionDetail decisions = DecisionDetail::none;
  AfterOom after_oom = AfterOom::go_on;
  RepeatedSteps repeated_steps = RepeatedSteps::counted;
  std::shared_ptr<const Neighbour> beside;  ///< another process on the device; null: none
  std::optional<std::size_t> last_event;    ///< the replay ends after this event; absent: the last
  ReplayObserver* observer = nullptr;       ///< must outlive the replay
  DecisionListener* listener = nullptr;     ///< receives every decision; must outlive the replay
};

/// @throws InputError for a trace that PyTorch would assert on.
ReplayResult replay(const RequestTrace& trace, const ReplayOptions& options);

/// What both replays (free, and as recorded) report at the end.
void summarise(const class CachingAllocator& allocator, class UsageTracker& tracker,
               ReplayResult& result);

}  // namespace highwater
