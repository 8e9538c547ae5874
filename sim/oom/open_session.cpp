#include "sim/oom/open_session.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "traces/capture_names.hpp"
#include "traces/pool_options.hpp"

namespace highwater {
namespace {

/// The captures that the recorder marks, one in another.
class MarkedCaptures {
 public:
  explicit MarkedCaptures(const RequestTrace& trace) : trace_(&trace) {}

  void follow(const Event& event, std::size_t at) {
    if (is_named(event, kCaptureBegins)) {
      begins_.push_back(at);
    } else if (is_named(event, kCaptureEnds) && !begins_.empty()) {
      begins_.pop_back();
    }
  }

  [[nodiscard]] bool is_open() const { return !begins_.empty(); }

  [[nodiscard]] std::size_t begin() const { return begins_.front(); }

 private:
  [[nodiscard]] bool is_named(const Event& event, std::string_view name) const {
    return event.kind == EventKind::op && trace_->tables.strings[event.text()] == name;
  }

  const RequestTrace* trace_;
  std::vector<std::size_t> begins_;
};

struct Opened {
  PoolIndex pool = 0;
  std::size_t at = 0;
  SessionKind kind = SessionKind::routed;
};

/// Pools as they open and close. A recording does not tell the pool of a request that failed, so a
/// marked capture has the one that it took memory from last.
class Sessions {
 public:
  void follow(const Event& event, std::size_t at) {
    if (event.kind == EventKind::pool_begin) {
      open_.push_back({event.pool, at, session_kind_of(event.value)});
      last_ = open_.back();
    } else if (event.kind == EventKind::pool_end) {
      std::erase_if(open_, [&](const Opened& each) { return each.pool == event.pool; });
    }
  }

  [[nodiscard]] std::optional<Opened> open() const {
    return open_.empty()
               ? std::nullopt
               : std::optional(Opened{open_.back().pool, open_.front().at, open_.back().kind});
  }

  [[nodiscard]] std::optional<Opened> since(std::size_t begin) const {
    return last_ && last_->at >= begin
               ? std::optional(Opened{last_->pool, begin, SessionKind::capture})
               : std::nullopt;
  }

 private:
  std::vector<Opened> open_;
  std::optional<Opened> last_;
};

}  // namespace

std::optional<OpenSession> open_session(const RequestTrace& trace, std::size_t at) {
  Sessions sessions;
  MarkedCaptures captures(trace);
  std::size_t position = 0;
  for (const Event& event : trace.events) {
    if (position == at) {
      break;
    }
    captures.follow(event, position);
    sessions.follow(event, position);
    ++position;
  }
  const auto found = captures.is_open() ? sessions.since(captures.begin()) : sessions.open();
  if (!found) {
    return std::nullopt;
  }
  const PoolId pool = trace.pools[found->pool];
  const bool is_capture = found->kind == SessionKind::capture || pool.capture != 0;
  return OpenSession{
      .pool = pool, .begin = found->at, .is_capture = is_capture, .holds_back = is_capture};
}

Bytes returnable(const MemoryMap& map) {
  Bytes sum;
  for (const MapSegment& segment : map.segments) {
    const bool is_free = std::ranges::all_of(
        segment.blocks, [](const MapBlock& block) { return block.state == BlockState::inactive; });
    sum += is_free && segment.owner.is_default() ? segment.size : Bytes{};
  }
  return sum;
}

}  // namespace highwater
