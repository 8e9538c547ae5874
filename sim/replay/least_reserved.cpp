#include "sim/replay/least_reserved.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "allocator/size_policy.hpp"

namespace highwater {
namespace {

/// The live blocks of a trace, all requests of which are served.
class LiveRounded {
 public:
  LiveRounded(std::size_t allocations, const Settings& settings)
      : settings_(&settings), sizes_(allocations) {}

  void apply(const Event& event) {
    if (event.kind == EventKind::alloc && event.value > 0) {
      const Bytes size = round_size(event.bytes(), *settings_);
      live_ += size;
      most_ = std::max(most_, live_);
      sizes_[event.allocation.index()] = size;
    } else if (event.kind == EventKind::free) {
      live_ -= std::exchange(sizes_[event.allocation.index()], Bytes{});
    }
  }

  [[nodiscard]] Bytes most() const { return most_; }

 private:
  const Settings* settings_;
  std::vector<Bytes> sizes_;  ///< by allocation; 0: not live
  Bytes live_;
  Bytes most_;
};

}  // namespace

std::optional<Bytes> least_reserved(const RequestTrace& trace, const Settings& settings) {
  LiveRounded live(trace.allocation_count, settings);
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::set_settings) {
      return std::nullopt;
    }
    live.apply(event);
  }
  return live.most();
}

std::optional<Bytes> LeastReserved::of(const RequestTrace& trace, const Settings& settings) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = known_.try_emplace(settings.roundup_power2_divisions);
  if (is_new) {
    found->second = least_reserved(trace, settings);
  }
  return found->second;
}

}  // namespace highwater
