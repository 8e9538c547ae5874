// When the events of a trace happened: the recorded times, else times made up by counting events.
//
// A recording of PyTorch 2.2 or later has a time for each entry; requests derived from it take the
// time of the last entry that they account for. Everything else counts events: one microsecond
// each, from a fixed moment on, so that two runs write the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/recordings/derivation.hpp"

namespace highwater {

class EventTimes {
 public:
  /// Event i happens i microseconds after kOrigin.
  EventTimes() = default;

  /// `times` of events 0, 1, ... in microseconds, ascending.
  explicit EventTimes(std::vector<std::int64_t> times) : times_(std::move(times)) {}

  [[nodiscard]] std::int64_t of(std::size_t event) const {
    if (times_.empty()) {
      return kOrigin + static_cast<std::int64_t>(event);
    }
    return event < times_.size() ? times_[event] : times_.back();
  }

  [[nodiscard]] bool are_recorded() const { return !times_.empty(); }

  /// 2020-09-13 12:26:40 UTC, a round number of microseconds.
  static constexpr std::int64_t kOrigin = 1'600'000'000'000'000;

 private:
  std::vector<std::int64_t> times_;
};

/// The times of the events of `trace`, which is `derived.requests` or made from it by
/// recorded_requests(): inserted events take the time of the one before. Times are counted if
/// any entry of `device` lacks one.
EventTimes times_of(const RequestTrace& trace, const DerivedTrace& derived,
                    const RecordedDevice& device);

/// When every `width`-th operation happened, and the last one: thinned to about `most`, for
/// pictures.
struct OperationTimes {
  std::uint64_t width = 1;
  std::vector<std::int64_t> at;  ///< in microseconds; empty: no times were recorded
};

/// Of the same events, without the markers among them.
OperationTimes operation_times(const RequestTrace& trace, const DerivedTrace& derived,
                               const RecordedDevice& device, std::size_t most = 4096);

}  // namespace highwater
