#include "sim/edits/captures.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "traces/capture_names.hpp"

namespace highwater {
namespace {

/// Events that a capture consists of.
struct Span {
  std::size_t first = 0;
  std::size_t end = 0;
};

bool is_named(const RequestTrace& trace, const Event& event, std::string_view name) {
  return event.kind == EventKind::op && trace.tables.strings[event.text()] == name;
}

/// Captures inside of others are part of these.
std::vector<Span> marked_spans(const RequestTrace& trace, std::size_t older_events) {
  std::vector<Span> spans;
  std::size_t depth = 0;
  for (std::size_t i = older_events; i < trace.events.size(); ++i) {
    if (is_named(trace, trace.events[i], kCaptureBegins)) {
      if (depth++ == 0) {
        spans.push_back({i, trace.events.size()});
      }
    } else if (is_named(trace, trace.events[i], kCaptureEnds) && depth > 0 && --depth == 0) {
      spans.back().end = i + 1;
    }
  }
  return spans;
}

/// Pools of single captures where there are any, else all private ones: PyTorch numbers shared
/// pools of graphs like those of torch.cuda.MemPool.
std::vector<bool> capture_pools(const RequestTrace& trace) {
  std::vector<bool> chosen(trace.pools.size() + 1);
  const bool has_own = std::ranges::any_of(trace.pools, [](PoolId id) { return id.capture != 0; });
  for (std::size_t i = 0; i < trace.pools.size(); ++i) {
    chosen[i] = has_own ? trace.pools[i].capture != 0 : !trace.pools[i].is_default();
  }
  return chosen;
}

/// Stretches of allocations in one pool, with the frees right behind them of what such stretches
/// made.
class PoolStretches {
 public:
  PoolStretches(const RequestTrace& trace, const std::vector<PoolIndex>& pools)
      : trace_(&trace),
        pools_(&pools),
        is_capture_pool_(capture_pools(trace)),
        made_in_(trace.allocation_count) {}

  std::vector<Span> find(std::size_t older_events) {
    for (std::size_t i = older_events; i < trace_->events.size(); ++i) {
      see(trace_->events[i], i);
    }
    return std::move(spans_);
  }

 private:
  void see(const Event& event, std::size_t i) {
    if (event.kind == EventKind::alloc) {
      see_allocation(event.allocation, i);
    } else if (open_ && event.kind == EventKind::free && made_in_[event.allocation.index()] > 0) {
      spans_.back().end = i + 1;
    } else if (event.kind == EventKind::free) {
      is_over_ = true;  // what comes now may be the program's, between two captures
    }
  }

  void see_allocation(AllocationId id, std::size_t i) {
    const PoolIndex pool = (*pools_)[id.index()];
    if (!is_capture_pool_[pool]) {
      open_.reset();
      return;
    }
    if (open_ != pool || is_over_) {
      spans_.push_back({i, i + 1});
    }
    open_ = pool;
    is_over_ = false;
    spans_.back().end = i + 1;
    made_in_[id.index()] = spans_.size();
  }

  const RequestTrace* trace_;
  const std::vector<PoolIndex>* pools_;
  std::vector<bool> is_capture_pool_;
  std::vector<std::size_t> made_in_;  ///< by AllocationId: how many stretches there were then
  std::vector<Span> spans_;
  std::optional<PoolIndex> open_;
  bool is_over_ = false;
};

/// Fills what the events of a capture tell. False: it took no memory of a private pool.
class CaptureReader {
 public:
  CaptureReader(const RequestTrace& trace, const std::vector<PoolIndex>& pools)
      : trace_(&trace), pools_(&pools), live_(trace.allocation_count) {}

  std::optional<Capture> read(const Span& span) {
    Capture capture{.first = span.first, .end = span.end, .graphs = 1};
    Bytes now;
    Bytes largest;
    for (std::size_t i = span.first; i < span.end; ++i) {
      const Event& event = trace_->events[i];
      if (event.kind == EventKind::alloc && is_private(event)) {
        add(event, capture);
        live_[event.allocation.index()] = event.bytes();
        now += event.bytes();
        capture.stack = event.bytes() > largest ? event.stack : capture.stack;
        largest = std::max(largest, event.bytes());
        capture.most_live = std::max(capture.most_live, now);
      } else if (event.kind == EventKind::free) {
        now -= std::exchange(live_[event.allocation.index()], Bytes{});
      }
    }
    forget(span);
    return capture.blocks == 0 ? std::nullopt : std::optional(std::move(capture));
  }

 private:
  [[nodiscard]] bool is_private(const Event& event) const {
    return (*pools_)[event.allocation.index()] < trace_->pools.size();
  }

  void add(const Event& event, Capture& capture) const {
    if (capture.blocks++ == 0) {
      capture.pool = (*pools_)[event.allocation.index()];
    }
    if (std::ranges::find(capture.streams, event.stream) == capture.streams.end()) {
      capture.streams.push_back(event.stream);
    }
  }

  void forget(const Span& span) {
    for (std::size_t i = span.first; i < span.end; ++i) {
      if (trace_->events[i].kind == EventKind::alloc) {
        live_[trace_->events[i].allocation.index()] = Bytes{};
      }
    }
  }

  const RequestTrace* trace_;
  const std::vector<PoolIndex>* pools_;
  std::vector<Bytes> live_;  ///< by AllocationId: of the capture that is read
};

/// Whether captures [i, i+1] and so on need each other: joins them.
class Needs {
 public:
  Needs(const RequestTrace& trace, const std::vector<Capture>& captures)
      : captures_(&captures), joined_until_(captures.size()) {
    for (std::size_t i = 0; i < captures.size(); ++i) {
      joined_until_[i] = i;
      sites_.push_back(sites_of(trace, captures[i]));
    }
    note_frees(trace);
  }

  /// The last capture that the one at `i` has to be one with.
  [[nodiscard]] std::size_t last_of(std::size_t i) const {
    std::size_t last = joined_until_[i];
    for (std::size_t each = i; each <= last; ++each) {
      last = std::max(last, joined_until_[each]);
    }
    return last;
  }

 private:
  static std::set<StackId> sites_of(const RequestTrace& trace, const Capture& capture) {
    std::set<StackId> sites;
    for (std::size_t i = capture.begin; i < capture.end; ++i) {
      if (trace.events[i].kind == EventKind::alloc) {
        sites.insert(trace.events[i].stack);
      }
    }
    return sites;
  }

  struct Made {
    std::size_t capture = 0;
    StackId stack;
    bool is_captured = false;
  };

  void note_frees(const RequestTrace& trace) {
    std::vector<std::optional<Made>> made(trace.allocation_count);
    for (std::size_t c = 0; c < captures_->size(); ++c) {
      const Capture& capture = (*captures_)[c];
      for (std::size_t i = capture.begin; i < capture.end; ++i) {
        const Event& event = trace.events[i];
        if (event.kind == EventKind::alloc) {
          made[event.allocation.index()] = Made{c, event.stack, i >= capture.first};
        } else if (event.kind == EventKind::free && made[event.allocation.index()]) {
          note(*made[event.allocation.index()], c);
        }
      }
    }
  }

  /// A capture frees what an earlier one left, and does not make it anew.
  void note(const Made& made, std::size_t freed_in) {
    if (made.is_captured && !sites_[freed_in].contains(made.stack)) {
      joined_until_[made.capture] = std::max(joined_until_[made.capture], freed_in);
    }
  }

  const std::vector<Capture>* captures_;
  std::vector<std::set<StackId>> sites_;
  std::vector<std::size_t> joined_until_;
};

std::vector<Capture> join_needed(const RequestTrace& trace, const std::vector<Capture>& captures,
                                 CaptureReader& reader) {
  const Needs needs(trace, captures);
  std::vector<Capture> result;
  for (std::size_t i = 0; i < captures.size();) {
    const std::size_t last = needs.last_of(i);
    Capture whole = reader.read({captures[i].first, captures[last].end}).value();
    whole.begin = captures[i].begin;
    whole.graphs = last + 1 - i;
    result.push_back(std::move(whole));
    i = last + 1;
  }
  return result;
}

/// Where the work that prepares the first capture begins: what comes after the last allocation of
/// a site that prepares no later capture. What has no stack (autograd's thread) is like the rest.
std::size_t first_preparation(const RequestTrace& trace, const std::vector<Capture>& captures,
                              std::size_t older_events) {
  std::set<StackId> sites;
  for (std::size_t c = 1; c < captures.size(); ++c) {
    for (std::size_t i = captures[c].begin; i < captures[c].first; ++i) {
      if (trace.events[i].kind == EventKind::alloc) {
        sites.insert(trace.events[i].stack);
      }
    }
  }
  if (sites.empty() || sites == std::set<StackId>{StackId::none()}) {
    return captures.front().first;  // without stacks everything looks alike
  }
  std::size_t begin = captures.front().first;
  for (std::size_t i = begin; i-- > older_events;) {
    if (trace.events[i].kind == EventKind::alloc) {
      if (!sites.contains(trace.events[i].stack)) {
        break;
      }
      begin = i;
    }
  }
  return begin;
}

/// An empty_cache at the front of a capture's events was called before it: the recorder marks the
/// moment, and what was released is recorded behind the mark.
std::size_t behind_empty_cache(const RequestTrace& trace, const Span& span) {
  std::size_t first = span.first;
  for (std::size_t i = first; i < span.end && trace.events[i].kind != EventKind::alloc; ++i) {
    first = trace.events[i].kind == EventKind::empty_cache ? i + 1 : first;
  }
  return first;
}

}  // namespace

std::vector<PoolIndex> pools_of_allocations(const RequestTrace& trace) {
  const auto common = static_cast<PoolIndex>(trace.pools.size());
  std::vector<PoolIndex> pools(trace.allocation_count, common);
  std::vector<PoolIndex> open;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::pool_begin) {
      open.push_back(event.pool);
    } else if (event.kind == EventKind::pool_end) {
      std::erase(open, event.pool);
    } else if (event.kind == EventKind::alloc && !open.empty()) {
      pools[event.allocation.index()] = open.back();
    }
  }
  return pools;
}

std::vector<SessionKind> session_kinds(const RequestTrace& trace) {
  std::vector<SessionKind> kinds(trace.allocation_count, SessionKind::routed);
  std::vector<Event> open;
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::pool_begin) {
      open.push_back(event);
    } else if (event.kind == EventKind::pool_end) {
      std::erase_if(open, [&](const Event& begin) { return begin.pool == event.pool; });
    } else if (event.kind == EventKind::alloc && !open.empty()) {
      kinds[event.allocation.index()] = session_kind_of(open.back().value);
    }
  }
  return kinds;
}

Captures find_captures(const RequestTrace& trace, std::size_t older_events) {
  const std::vector<PoolIndex> pools = pools_of_allocations(trace);
  std::vector<Span> spans = marked_spans(trace, older_events);
  Captures result{.list = {}, .are_marked = !spans.empty()};
  if (spans.empty()) {
    spans = PoolStretches(trace, pools).find(older_events);
  }
  CaptureReader reader(trace, pools);
  for (Span span : spans) {
    span.first = behind_empty_cache(trace, span);
    if (std::optional<Capture> capture = reader.read(span)) {
      capture->begin = result.list.empty() ? capture->first : result.list.back().end;
      result.list.push_back(*std::move(capture));
    }
  }
  if (result.list.empty()) {
    return result;
  }
  result.list.front().begin = first_preparation(trace, result.list, older_events);
  result.list = join_needed(trace, result.list, reader);
  return result;
}

}  // namespace highwater
