#include "sim/chance/stitched_run.hpp"

#include <fmt/format.h>

#include "traces/error.hpp"

namespace highwater {

StitchedRun::StitchedRun(const ReplayOptions& options)
    : device_({options.capacity, options.addresses}),
      allocator_(device_, options.settings, *options.version) {
  if (options.fraction) {
    allocator_.set_memory_fraction(*options.fraction);
  }
  if (options.memory_limit) {
    allocator_.set_memory_limit(*options.memory_limit);
  }
}

bool StitchedRun::carry_out(const Piece& piece) {
  if (blocks_.size() != piece.live_before) {
    throw InputError("steps", "",
                     fmt::format("a step expects {} live blocks, but the one before it left {}",
                                 piece.live_before, blocks_.size()),
                     "give lengths for which all steps leave the same variables alive");
  }
  blocks_.resize(piece.places);
  for (const PieceRequest& request : piece.requests) {
    if (!apply(request)) {
      return false;
    }
  }
  pass_on(piece);
  return true;
}

bool StitchedRun::apply(const PieceRequest& request) {
  switch (request.kind) {
    case EventKind::alloc: {
      const AllocationResult result =
          allocator_.allocate(Bytes{request.bytes}, StreamId{std::uint32_t{request.stream}});
      blocks_[request.place] = result.block;
      return result.status != AllocationStatus::out_of_memory;
    }
    case EventKind::free:
      if (blocks_[request.place].has_value()) {
        allocator_.free(blocks_[request.place]);
      }
      break;
    case EventKind::record_stream:
      if (blocks_[request.place].has_value()) {
        allocator_.record_stream(blocks_[request.place], StreamId{std::uint32_t{request.stream}});
      }
      break;
    case EventKind::stream_done:
      allocator_.complete_events(StreamId{std::uint32_t{request.stream}});
      break;
    case EventKind::all_streams_done:
      allocator_.complete_all_events();
      break;
    default:
      allocator_.empty_cache();
      break;
  }
  return true;
}

void StitchedRun::pass_on(const Piece& piece) {
  std::size_t next = piece.untouched;
  for (const std::uint32_t place : piece.left) {
    blocks_[next++] = blocks_[place];
  }
  blocks_.resize(next);
}

Bytes StitchedRun::peak(Stat stat) const {
  return Bytes{static_cast<std::uint64_t>(allocator_.statistics().all(stat).peak)};
}

}  // namespace highwater
