// What is known of a run beside the entries of its history: calls of the allocator that leave no
// entry of their own, or none that tells them apart. Each is an annotation with a place among the
// entries, whose name is one of
//
//     allocator: noted                          from here on `highwater record` notes such calls
//     allocator: empty_cache                    what is released next, empty_cache released
//     allocator: done                           ... and what is released from here on, it did not
//     allocator: retry                          ... the allocation after it released
//     allocator: settings CONF                  CONF is applied at run time
//     allocator: pool A,B [no_split] [use_on_oom]    a torch.cuda.MemPool with these options
//     allocator: device BYTES                   what the device has for this process
//     allocator: limit BYTES|none               what the process may reserve of it from here on
//     allocator: retire A,B                     the MemPool goes, and graphs still use its pool
//     allocator: release A,B [now]              nobody uses the private pool any more; now: what it
//                                               has cached is released next, since a MemPool went
//
// "noted exactly" says that releases of pools and ends of calls are noted, too. `highwater record`
// writes all but "retry" while the script runs; the reader of snapshots writes empty_cache and
// retry where call stacks tell them apart (traces/formats/snapshot).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "traces/ids.hpp"
#include "traces/pool_options.hpp"

namespace highwater {

struct AllocatorNote {
  enum class Kind : std::uint8_t {
    noted,
    empty_cache,
    retry,
    settings,
    pool,
    release,
    done,
    device,
    limit,
    retire
  };

  Kind kind = Kind::noted;
  std::string_view rest;  ///< behind the word
};

/// Absent for an annotation of another kind, and for a word that is not known.
std::optional<AllocatorNote> allocator_note(std::string_view annotation);

/// The name of the annotation.
std::string name_of(const AllocatorNote& note);

/// The pool and its options of a note of that kind; absent where it is not written as above.
std::optional<std::pair<PoolId, PoolOptions>> noted_pool(std::string_view rest);

/// A private pool that has no users left.
struct NotedRelease {
  PoolId pool;
  bool is_now = false;  ///< what it has cached is released next
};

/// The pool of a note that retires it; absent where it is not written as above.
std::optional<PoolId> noted_retirement(std::string_view rest);

/// Event::value of a limit that is noted so; absent where it is not written as above.
std::optional<std::uint64_t> noted_limit(std::string_view rest);

/// Of a note of that kind; absent where it is not written as above.
std::optional<NotedRelease> noted_release(std::string_view rest);

}  // namespace highwater
