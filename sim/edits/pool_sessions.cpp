#include "sim/edits/pool_sessions.hpp"

namespace highwater {

void PoolSessions::follow(const Event& event) {
  learn(event);
  if (event.kind == EventKind::pool_begin) {
    ++users_[event.pool];
    open_ = event;
  } else if (event.kind == EventKind::pool_end) {
    open_.reset();
  } else if (event.kind == EventKind::pool_release) {
    --users_[event.pool];
  }
}

void PoolSessions::learn(const Event& event) {
  if (event.kind == EventKind::pool_begin) {
    begins_.try_emplace(event.pool, event);
  }
}

void PoolSessions::open(PoolIndex pool, SessionKind kind) {
  if (open_ && open_->pool == pool && session_kind_of(open_->value) == kind) {
    return;
  }
  close();
  const auto known = begins_.find(pool);
  Event begin = known == begins_.end() ? Event{.kind = EventKind::pool_begin} : known->second;
  begin.pool = pool;
  begin.value = value_of(pool_options_of(begin.value), kind);
  written_->push_back(begin);
  if (users_[pool] == 0) {
    users_[pool] = 1;
  } else {
    written_->push_back({.kind = EventKind::pool_release, .pool = pool});
  }
  open_ = begin;
}

void PoolSessions::close() {
  if (open_) {
    written_->push_back({.kind = EventKind::pool_end, .pool = open_->pool});
    open_.reset();
  }
}

void PoolSessions::end(const Event& last) {
  close();
  for (std::size_t& left = users_[last.pool]; left > 0; --left) {
    Event release = last;
    release.value = left == 1 ? last.value : 0;
    written_->push_back(release);
  }
}

std::set<std::size_t> last_releases(const RequestTrace& trace) {
  std::map<PoolIndex, std::size_t> users;
  std::set<std::size_t> last;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    if (event.kind == EventKind::pool_begin) {
      ++users[event.pool];
    } else if (event.kind == EventKind::pool_release && --users[event.pool] == 0) {
      last.insert(i);
    }
  }
  return last;
}

}  // namespace highwater
