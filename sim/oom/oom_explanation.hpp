// Why a replay ran out of memory, and what would have helped, each verified by a replay.
//
// The cause is found by elimination. With A bytes of requests in use, a request of R and at most L
// bytes available, A + R > L is a shortage no allocator can help with (capacity, or the limit that
// a memory fraction sets although the device has more), and so is a run that later has more than L
// in use, even where the first request to fail would just have fitted. Otherwise there was room,
// and the cause is whatever the replay does not fail without: events that have not completed, other
// streams, private pools; if none of these, free memory lies in pieces (fragmentation).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/oom/freed_blocks.hpp"
#include "sim/oom/oom_state.hpp"
#include "sim/oom/open_session.hpp"
#include "sim/recordings/recorded_limit.hpp"
#include "sim/replay/replay.hpp"

namespace highwater {

enum class OomCause : std::uint8_t {
  capacity,          ///< live memory and the request exceed all memory
  memory_limit,      ///< the same, but the device has more than the process may take
  outside_pytorch,   ///< the same, but only because of what others hold of the device
  pending_frees,     ///< freed memory waits for events of other streams
  stream_isolation,  ///< free memory belongs to another stream
  private_pool,      ///< free memory belongs to a private pool
  fragmentation,     ///< enough is free, but nowhere in one piece
};

/// "capacity", "memory limit", "memory outside PyTorch", "pending frees", ...
std::string_view to_string(OomCause cause);

/// One thing that could have been different, replayed.
struct Counterfactual {
  enum class Kind : std::uint8_t {
    settings,          ///< `conf` in place of the settings
    more_memory,       ///< `bytes` more than the limit
    freed_blocks,      ///< `freed` given back before the request
    no_limit,          ///< no memory fraction: all that the device has
    one_stream,        ///< everything on one stream
    no_stream_uses,    ///< no record_stream: frees complete at once
    no_private_pools,  ///< all requests in the default pools
    emptied_before,    ///< empty_cache before the private pool was opened
    edit,              ///< the program written otherwise, as `edit` says
  };

  Kind kind = Kind::settings;
  Settings settings;          ///< of Kind::settings
  Bytes bytes;                ///< of Kind::more_memory
  FreedBlocks freed;          ///< of Kind::freed_blocks
  std::string edit;           ///< of Kind::edit, as for --edit
  std::string edit_words;     ///< the same in words
  bool serves = false;        ///< the request that failed succeeds
  bool survives = false;      ///< and nothing fails after it (unknown for freed_blocks: false)
  std::optional<Usage> peak;  ///< of the whole replay, if it was replayed to the end
};

/// What is known of the memory around the allocator.
struct DeviceKnowledge {
  std::optional<Bytes> total;  ///< the whole device
  Bytes outside;               ///< held by contexts, communicators, other processes
  bool is_fraction = false;    ///< the limit is a memory fraction: the device has more
};

struct OomExplanation {
  OomState state;
  OomCause cause = OomCause::capacity;
  Bytes limit;              ///< the most that could be reserved
  Bytes in_use;             ///< live requests then, in blocks of 512 bytes: no setting avoids these
  Bytes most_alive;         ///< of the whole run, in blocks of 512 bytes, at once
  Bytes free_same_place;    ///< cached for the request's own pool and stream
  Bytes free_other_stream;  ///< cached in the same kind of pool for other streams
  Bytes free_other_pool;    ///< cached in small pools (or large ones, for a small request)
  Bytes free_private;       ///< cached in private pools that are not the request's
  Bytes pending;            ///< freed, waiting for other streams
  std::optional<OpenSession> session;  ///< the private pool that was open then
  /// The largest free block that holds the request: PyTorch waits for all streams as the last
  /// resort and then asks the device again, but not the cache (pytorch #189504). 0 if there is
  /// none.
  Bytes came_free_too_late;
  /// Those that serve the request come first: settings, freed blocks, more memory, then those that
  /// only show the cause.
  std::vector<Counterfactual> counterfactuals;
};

/// Explains the first failure of the replay of `trace` under `options`; absent when nothing fails.
/// Takes some dozens of replays. `older_events` make the blocks that are older than a recording.
/// @throws InputError as replay()
std::optional<OomExplanation> explain_out_of_memory(const RequestTrace& trace,
                                                    const ReplayOptions& options,
                                                    const DeviceKnowledge& device,
                                                    std::size_t older_events = 0);

/// The cause alone, by at most four replays.
std::optional<OomCause> cause_of_first_failure(const RequestTrace& trace,
                                               const ReplayOptions& options,
                                               const DeviceKnowledge& device);

}  // namespace highwater
