#include "sim/chance/piece.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "traces/error.hpp"

namespace highwater {
namespace {

bool fits_into_piece(const Event& event) {
  switch (event.kind) {
    case EventKind::alloc:
    case EventKind::free:
    case EventKind::record_stream:
    case EventKind::stream_done:
    case EventKind::all_streams_done:
    case EventKind::empty_cache:
      return event.pool == 0;
    default:
      return false;
  }
}

/// Cuts one piece after the other, and knows which blocks are live between them.
class Cutter {
 public:
  explicit Cutter(const RequestTrace& trace) : trace_(trace) {}

  Piece piece(std::size_t begin, std::size_t end) {
    Piece piece;
    piece.live_before = piece.places = static_cast<std::uint32_t>(live_.size());
    is_freed_.assign(live_.size(), false);
    for (std::size_t i = begin; i < end; ++i) {
      add(trace_.events[i], piece);
    }
    leave(piece);
    return piece;
  }

 private:
  void add(const Event& event, Piece& piece) {
    // Peaks are those of the whole run.
    if (!event.is_operation() || event.kind == EventKind::reset_peaks) {
      return;
    }
    if (!fits_into_piece(event)) {
      throw InputError(
          "requests", "steps",
          "private pools, and settings or a memory limit changed while the run goes on",
          "ask about a run without them");
    }
    if (event.kind == EventKind::alloc) {
      places_[event.allocation.value()] = piece.places++;
      live_.push_back(event.allocation);
      is_freed_.push_back(false);
    }
    PieceRequest request{.bytes = event.kind == EventKind::alloc ? event.value : 0,
                         .stream = static_cast<std::uint16_t>(event.stream.value()),
                         .kind = event.kind};
    if (event.allocation.has_value()) {
      request.place = places_.at(event.allocation.value());
    }
    if (event.kind == EventKind::free) {
      is_freed_[request.place] = true;
    }
    piece.requests.push_back(request);
  }

  /// Blocks that are still live get the places that the next piece knows them by.
  void leave(Piece& piece) {
    const auto first =
        std::ranges::find(is_freed_.begin(), is_freed_.begin() + piece.live_before, true);
    piece.untouched = static_cast<std::uint32_t>(first - is_freed_.begin());
    std::uint32_t next = piece.untouched;
    for (std::uint32_t place = piece.untouched; place < piece.places; ++place) {
      const AllocationId id = live_[place];
      if (is_freed_[place]) {
        places_.erase(id.value());
        continue;
      }
      piece.left.push_back(place);
      places_[id.value()] = next;
      live_[next++] = id;
    }
    live_.resize(next);
  }

  const RequestTrace& trace_;
  std::vector<AllocationId> live_;  ///< by place
  std::vector<bool> is_freed_;      ///< by place, in this piece
  std::unordered_map<std::uint32_t, std::uint32_t> places_;
};

}  // namespace

std::size_t Piece::bytes() const {
  return sizeof(Piece) + left.capacity() * sizeof(left[0]) +
         requests.capacity() * sizeof(requests[0]);
}

std::vector<Piece> cut(const RequestTrace& trace, std::span<const std::size_t> begins) {
  Cutter cutter(trace);
  std::vector<Piece> pieces;
  std::size_t begin = 0;
  for (const std::size_t next : begins) {
    pieces.push_back(cutter.piece(begin, next));
    begin = next;
  }
  pieces.push_back(cutter.piece(begin, trace.events.size()));
  return pieces;
}

}  // namespace highwater
