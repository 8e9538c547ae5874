// Sessions of private pools in a run that is written anew: each request in the pool that it belongs
// to, with at most one session open at a time, and each pool with the users that it had.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>

#include "traces/pool_options.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

class PoolSessions {
 public:
  explicit PoolSessions(ChunkedVector<Event>& written) : written_(&written) {}

  /// An event that is written as it is.
  void follow(const Event& event);

  /// How the run itself begins the pool.
  void learn(const Event& event);

  void open(PoolIndex pool, SessionKind kind);
  void close();

  /// The pool loses all its users, the last of them as `last` has it.
  void end(const Event& last);

 private:
  ChunkedVector<Event>* written_;
  std::map<PoolIndex, Event> begins_;
  std::map<PoolIndex, std::size_t> users_;
  std::optional<Event> open_;  ///< that began it
};

/// The events that take the last user of a pool.
std::set<std::size_t> last_releases(const RequestTrace& trace);

}  // namespace highwater
