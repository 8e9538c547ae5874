#include "sim/edits/capture_arranger.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sim/edits/capture_lives.hpp"
#include "sim/edits/pool_sessions.hpp"
#include "sim/edits/rewriting.hpp"

namespace highwater {
namespace {

/// By StreamId: nothing is allocated on it, so it only stands for other work that is waited for.
std::vector<bool> streams_without_blocks(const RequestTrace& trace) {
  std::vector<bool> without(trace.stream_handles.size(), true);
  for (const Event& event : trace.events) {
    if (event.kind == EventKind::alloc && event.stream.has_value()) {
      without[event.stream.index()] = false;
    }
  }
  return without;
}

class CaptureArranger {
 public:
  CaptureArranger(Arrangement arrangement, const Captures& captures, EditedRun& run)
      : captures_(&captures.list),
        order_(std::move(arrangement.order)),
        trace_(&run.trace),
        homes_(pools_of_allocations(run.trace)),
        kinds_(session_kinds(run.trace)),
        lives_(lives_of(run.trace, captures.list)),
        ends_of_pools_(last_releases(run.trace)),
        only_waited_for_(streams_without_blocks(run.trace)),
        spare_(run.trace),
        source_(std::exchange(run.trace.events, {})),
        sessions_(run.trace.events),
        is_written_(captures.list.size()),
        streams_(captures.list.size()) {
    for (std::size_t id = 0; id < lives_.origins.size(); ++id) {
      ids_.emplace_back(id);
    }
    for (const Capture& capture : captures.list) {
      capture_pools_.insert(capture.pool);
    }
    choose_pools(arrangement);
    if (arrangement.streams == ArrangeCaptures::Streams::one) {
      share_streams();
    } else if (arrangement.streams == ArrangeCaptures::Streams::own) {
      part_streams();
    }
    note_own_ends();
  }

  void write() {
    for (std::size_t i = 0; i < captures_->front().begin; ++i) {
      sessions_.follow(source_[i]);
      put(source_[i]);
    }
    sessions_.close();
    for (std::size_t place = 0; place < order_.size(); ++place) {
      write_capture(place);
    }
    for (std::size_t i = captures_->back().end; i < source_.size(); ++i) {
      write_after(i);
    }
    sessions_.close();
  }

 private:
  /// A capture that has been written, and its blocks that are live: with the ids they have there.
  struct Placed {
    std::size_t capture = 0;
    std::map<CaptureBlock, AllocationId> outliving;
  };

  /// A block of an earlier capture, freed by the one that is written.
  struct Owed {
    CapturePlace behind;
    AllocationId id;
  };

  void put(const Event& event) { trace_->events.push_back(event); }

  void choose_pools(const Arrangement& arrangement) {
    pools_.resize(captures_->size());
    std::uint64_t last = 0;
    for (const PoolId& pool : trace_->pools) {
      last = std::max(last, pool.user);
    }
    for (const std::vector<std::size_t>& together : arrangement.together) {
      const auto pool = static_cast<PoolIndex>(trace_->pools.size());
      trace_->pools.push_back({0, ++last});
      for (const std::size_t capture : together) {
        pools_[capture] = pool;
      }
    }
  }

  void share_streams() {
    std::map<PoolIndex, std::vector<StreamId>> first;
    for (std::size_t c = 0; c < captures_->size(); ++c) {
      const Capture& capture = (*captures_)[c];
      std::vector<StreamId>& shared = first[pools_[c].value_or(capture.pool)];
      for (std::size_t k = 0; k < capture.streams.size(); ++k) {
        if (k == shared.size()) {
          shared.push_back(capture.streams[k]);
        }
        streams_[c][capture.streams[k]] = shared[k];
      }
    }
  }

  void part_streams() {
    std::uint64_t handle = trace_->stream_handles.back();
    std::vector<std::uint64_t> handles;
    for (const Capture& capture : *captures_) {
      for (std::size_t k = 0; k < capture.streams.size(); ++k) {
        handles.push_back(++handle);
      }
    }
    std::vector<StreamId> fresh = streams_called(*trace_, handles);
    auto next = fresh.begin();
    for (std::size_t c = 0; c < captures_->size(); ++c) {
      for (const StreamId stream : (*captures_)[c].streams) {
        streams_[c][stream] = *next++;
      }
    }
  }

  void note_own_ends() {
    own_ends_.resize(captures_->size());
    for (std::size_t c = 0; c < captures_->size(); ++c) {
      for (std::size_t i = (*captures_)[c].begin; i < (*captures_)[c].end; ++i) {
        if (source_[i].kind == EventKind::free) {
          const CaptureOrigin& origin = lives_.origins[source_[i].allocation.index()];
          if (origin.capture < c) {
            own_ends_[c].insert(origin.block);
          }
        }
      }
    }
  }

  void write_capture(std::size_t place) {
    const std::size_t number = order_[place];
    const Capture& capture = (*captures_)[number];
    placed_.push_back({.capture = number, .outliving = {}});
    owed_ = owed_by(place);
    is_copy_ = is_written_[number];
    place_ = {};
    pay_owed();
    for (std::size_t i = capture.begin; i < capture.end; ++i) {
      write_event(i, place, i >= capture.first);
    }
    for (const Owed& owed : std::exchange(owed_, {})) {
      put({.allocation = owed.id, .kind = EventKind::free});
    }
    finish_waiting();
    sessions_.close();
    is_written_[number] = true;
  }

  /// What this capture frees of earlier ones though its recorded self did not.
  std::vector<Owed> owed_by(std::size_t place) {
    std::vector<Owed> owed;
    for (const auto& [block, succession] : lives_.successions) {
      if (place < succession.places || own_ends_[order_[place]].contains(block)) {
        continue;
      }
      if (const auto id = take(placed_[place - succession.places], block)) {
        owed.push_back({succession.behind, *id});
      }
    }
    return owed;
  }

  /// What is freed at this place of the capture.
  void pay_owed() {
    std::erase_if(owed_, [&](const Owed& owed) {
      if (owed.behind != place_) {
        return false;
      }
      put({.allocation = owed.id, .kind = EventKind::free});
      return true;
    });
  }

  static std::optional<AllocationId> take(Placed& placed, const CaptureBlock& block) {
    const auto found = placed.outliving.find(block);
    if (found == placed.outliving.end()) {
      return std::nullopt;
    }
    const AllocationId id = found->second;
    placed.outliving.erase(found);
    return id;
  }

  void write_event(std::size_t i, std::size_t place, bool is_captured) {
    const Event& event = source_[i];
    switch (event.kind) {
      case EventKind::alloc:
        allocate(event, place, is_captured);
        break;
      case EventKind::free:
        free_in_capture(event, place);
        break;
      case EventKind::record_stream:
        use_on_stream(event, place);
        break;
      case EventKind::stream_done:
        complete(event);
        break;
      case EventKind::pool_begin:
      case EventKind::pool_end:
      case EventKind::pool_release:
        follow_pool(i);
        break;
      case EventKind::pool_retire:
        break;  // of the pools that there were
      case EventKind::empty_cache:
        sessions_.close();
        put(event);
        break;
      case EventKind::step:
      case EventKind::phase:
        if (!is_copy_) {
          put(event);
        }
        break;
      default:
        put(event);
    }
  }

  void allocate(Event event, std::size_t place, bool is_captured) {
    const std::size_t source = event.allocation.index();
    const std::size_t number = order_[place];
    const CaptureOrigin& origin = lives_.origins[source];
    enter_pool(source, is_captured ? pools_[number] : std::nullopt);
    if (is_copy_) {
      ids_[source] = new_allocation(*trace_);
    }
    event.allocation = ids_[source];
    event.stream = stream_of(number, event.stream);
    put(event);
    if (!origin.ends_inside) {
      placed_[place].outliving[origin.block] = event.allocation;
    }
    place_ = {.made = origin.block};
    pay_owed();
  }

  /// That of the allocation `source`; `chosen` if it was a private one.
  void enter_pool(std::size_t source, std::optional<PoolIndex> chosen) {
    const PoolIndex recorded = homes_[source];
    if (recorded >= common_) {
      sessions_.close();
    } else {
      sessions_.open(chosen.value_or(recorded), kinds_[source]);
    }
  }

  [[nodiscard]] StreamId stream_of(std::size_t capture, StreamId stream) const {
    const auto found = streams_[capture].find(stream);
    return found == streams_[capture].end() ? stream : found->second;
  }

  /// The block that an event of the capture at `place` means; of an older capture the one that lies
  /// as many places before it as it did in the run.
  std::optional<AllocationId> meant(const Event& event, std::size_t place, bool is_last) {
    const std::size_t source = event.allocation.index();
    const CaptureOrigin& origin = lives_.origins[source];
    if (origin.capture == captures_->size() || origin.capture == order_[place]) {
      return ids_[source];
    }
    const std::size_t places = order_[place] - origin.capture;
    if (places > place) {
      return std::nullopt;
    }
    Placed& other = placed_[place - places];
    if (is_last) {
      return take(other, origin.block);
    }
    const auto found = other.outliving.find(origin.block);
    return found == other.outliving.end() ? std::nullopt : std::optional(found->second);
  }

  void free_in_capture(Event event, std::size_t place) {
    const std::size_t made_in = lives_.origins[event.allocation.index()].capture;
    if (made_in == captures_->size() && is_copy_) {
      return;  // the program's own block is freed once
    }
    if (const auto id = meant(event, place, true)) {
      event.allocation = *id;
      put(event);
    }
    if (made_in == order_[place]) {
      ++place_.freed;
      pay_owed();
    }
  }

  void use_on_stream(Event event, std::size_t place) {
    const auto id = meant(event, place, false);
    if (!id) {
      return;
    }
    event.allocation = *id;
    if (only_waited_for_[event.stream.index()]) {
      const StreamId stream = spare_.take();
      waiting_[event.stream].push_back(stream);
      event.stream = stream;
    } else {
      event.stream = stream_of(order_[place], event.stream);
    }
    put(event);
  }

  void complete(const Event& event) {
    const auto waiting = waiting_.find(event.stream);
    if (waiting != waiting_.end()) {
      done(waiting->second);
      waiting_.erase(waiting);
    } else if (!only_waited_for_[event.stream.index()] || !is_copy_) {
      put(event);
    }
  }

  /// A capture ends with its streams joined, and the next one begins with the device idle.
  void finish_waiting() {
    for (const auto& [stream, spares] : std::exchange(waiting_, {})) {
      done(spares);
    }
  }

  void done(const std::vector<StreamId>& spares) {
    for (const StreamId spare : spares) {
      put({.stream = spare, .kind = EventKind::stream_done});
      spare_.give_back(spare);
    }
  }

  /// Graphs live to the end of the run; other pools end as they did.
  void follow_pool(std::size_t i) {
    sessions_.learn(source_[i]);
    if (ends_of_pools_.contains(i) && !is_copy_ && !capture_pools_.contains(source_[i].pool)) {
      sessions_.end(source_[i]);
    }
  }

  void write_after(std::size_t i) {
    const Event& event = source_[i];
    is_copy_ = false;
    if (event.kind == EventKind::alloc) {
      enter_pool(event.allocation.index(), std::nullopt);
      put(event);
    } else if (event.kind == EventKind::free) {
      free_after(event);
    } else if (event.kind == EventKind::record_stream) {
      use_after(event);
    } else if (event.kind >= EventKind::pool_begin && event.kind <= EventKind::pool_release) {
      follow_pool(i);
    } else {
      if (event.kind == EventKind::empty_cache) {
        sessions_.close();
      }
      put(event);
    }
  }

  void use_after(Event event) {
    for (const auto& [placed, block] : of_captures(event)) {
      event.allocation = placed->outliving.at(block);
      put(event);
    }
    if (lives_.origins[event.allocation.index()].capture == captures_->size()) {
      put(event);
    }
  }

  void free_after(Event event) {
    if (lives_.origins[event.allocation.index()].capture == captures_->size()) {
      put(event);
      return;
    }
    for (const auto& [placed, block] : of_captures(event)) {
      event.allocation = placed->outliving.at(block);
      placed->outliving.erase(block);
      put(event);
    }
  }

  /// The blocks that stand for one of a capture after all captures: where blocks succeed each other
  /// the one of the capture as far from the last, else those of each time it was captured.
  std::vector<std::pair<Placed*, CaptureBlock>> of_captures(const Event& event) {
    std::vector<std::pair<Placed*, CaptureBlock>> found;
    const CaptureOrigin& origin = lives_.origins[event.allocation.index()];
    if (origin.capture == captures_->size()) {
      return found;
    }
    const bool is_succeeded = lives_.successions.contains(origin.block);
    const std::size_t from_last = captures_->size() - 1 - origin.capture;
    for (std::size_t place = 0; place < placed_.size(); ++place) {
      const bool is_meant = is_succeeded ? placed_.size() - 1 - place == from_last
                                         : placed_[place].capture == origin.capture;
      if (is_meant && placed_[place].outliving.contains(origin.block)) {
        found.emplace_back(&placed_[place], origin.block);
      }
    }
    return found;
  }

  const std::vector<Capture>* captures_;
  std::vector<std::size_t> order_;
  RequestTrace* trace_;
  PoolIndex common_ = static_cast<PoolIndex>(trace_->pools.size());  ///< as in homes_
  std::vector<PoolIndex> homes_;
  std::vector<SessionKind> kinds_;  ///< by AllocationId: of the session that it was made in
  CaptureLives lives_;
  std::set<std::size_t> ends_of_pools_;
  std::set<PoolIndex> capture_pools_;
  std::vector<bool> only_waited_for_;
  SpareStreams spare_;
  ChunkedVector<Event> source_;
  PoolSessions sessions_;
  std::vector<bool> is_written_;                       ///< by capture
  std::vector<std::map<StreamId, StreamId>> streams_;  ///< by capture
  std::vector<AllocationId> ids_;  ///< by AllocationId of the run: what it is called now
  std::vector<std::optional<PoolIndex>> pools_;   ///< by capture
  std::vector<std::set<CaptureBlock>> own_ends_;  ///< by capture
  std::vector<Placed> placed_;
  std::vector<Owed> owed_;
  CapturePlace place_;  ///< how far the capture that is written has come
  std::map<StreamId, std::vector<StreamId>> waiting_;
  bool is_copy_ = false;  ///< the capture that is written was written before
};

}  // namespace

void write_arranged(Arrangement arrangement, const Captures& captures, EditedRun& run) {
  CaptureArranger(std::move(arrangement), captures, run).write();
}

}  // namespace highwater
