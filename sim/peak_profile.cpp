#include "sim/peak_profile.hpp"

#include <algorithm>
#include <map>

namespace highwater {
namespace {

/// Follows allocations and frees; tells the live bytes after each event.
class LiveSet {
 public:
  explicit LiveSet(const RequestTrace& trace) : live_(trace.allocation_count) {}

  void apply(const Event& event) {
    if (event.kind == EventKind::alloc) {
      live_[event.allocation.index()] = {event.stack, event.bytes(), true};
      total_ += event.bytes();
    } else if (event.kind == EventKind::free && live_[event.allocation.index()].is_live) {
      total_ -= live_[event.allocation.index()].bytes;
      live_[event.allocation.index()].is_live = false;
    }
  }

  [[nodiscard]] Bytes total() const { return total_; }

  [[nodiscard]] std::vector<SiteShare> by_site() const {
    std::map<StackId, SiteShare> sites;
    for (const Allocation& allocation : live_) {
      if (allocation.is_live) {
        SiteShare& share = sites[allocation.stack];
        share.stack = allocation.stack;
        share.bytes += allocation.bytes;
        ++share.blocks;
      }
    }
    std::vector<SiteShare> shares;
    for (const auto& [stack, share] : sites) {
      shares.push_back(share);
    }
    std::ranges::stable_sort(shares, std::ranges::greater{}, &SiteShare::bytes);
    return shares;
  }

 private:
  struct Allocation {
    StackId stack;
    Bytes bytes;
    bool is_live = false;
  };

  std::vector<Allocation> live_;
  Bytes total_;
};

std::size_t peak_event(const RequestTrace& trace) {
  LiveSet live(trace);
  Bytes highest;
  std::size_t at = 0;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    live.apply(trace.events[i]);
    if (live.total() > highest) {
      highest = live.total();
      at = i;
    }
  }
  return at;
}

}  // namespace

PeakProfile profile_peak(const RequestTrace& trace) {
  return profile_at(trace, peak_event(trace));
}

PeakProfile profile_at(const RequestTrace& trace, std::size_t event) {
  PeakProfile profile;
  profile.event = event;
  LiveSet live(trace);
  for (std::size_t i = 0; i < trace.events.size() && i <= profile.event; ++i) {
    live.apply(trace.events[i]);
  }
  profile.live = live.total();
  profile.sites = live.by_site();
  for (const SiteShare& share : profile.sites) {
    profile.blocks += share.blocks;
  }
  return profile;
}

}  // namespace highwater
