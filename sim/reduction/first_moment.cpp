#include "sim/reduction/first_moment.hpp"

#include <algorithm>
#include <functional>

#include "sim/replay/usage_tracker.hpp"

namespace highwater {
namespace {

/// Counts events until `is_reached` says so.
class EventCounter : public ReplayObserver {
 public:
  using IsReached = std::function<bool(AllocationStatus, const Statistics&)>;

  explicit EventCounter(IsReached is_reached) : is_reached_(std::move(is_reached)) {}

  void on_event(const Event& /*event*/, AllocationStatus status,
                const Statistics& statistics) override {
    ++events_;
    if (!found_ && is_reached_(status, statistics)) {
      found_ = events_;
    }
  }

  [[nodiscard]] std::optional<std::size_t> found() const { return found_; }

 private:
  IsReached is_reached_;
  std::size_t events_ = 0;
  std::optional<std::size_t> found_;
};

std::optional<std::size_t> events_until(const RequestTrace& trace, ReplayOptions options,
                                        EventCounter::IsReached is_reached) {
  EventCounter counter(std::move(is_reached));
  options.observer = &counter;
  options.after_oom = AfterOom::stop;
  options.decisions = DecisionDetail::none;
  replay(trace, options);
  return counter.found();
}

}  // namespace

std::optional<std::size_t> events_until_shown(const RequestTrace& trace,
                                              const ReplayOptions& options,
                                              const KeptProperty& property) {
  Usage peak;
  return events_until(trace, options, [&](AllocationStatus status, const Statistics& statistics) {
    const Usage now = usage_of(statistics);
    peak.active = std::max(peak.active, now.active);
    peak.reserved = std::max(peak.reserved, now.reserved);
    return status != AllocationStatus::out_of_memory && is_shown_by(peak, property);
  });
}

std::optional<std::size_t> events_until_failure(const RequestTrace& trace,
                                                const ReplayOptions& options) {
  return events_until(trace, options, [](AllocationStatus status, const Statistics&) {
    return status == AllocationStatus::out_of_memory;
  });
}

}  // namespace highwater
