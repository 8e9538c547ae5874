#include "workloads/eager/stream_events.hpp"

#include <algorithm>

namespace highwater::eager {

StreamEvents::Queue& StreamEvents::queue_of(StreamId stream) {
  const auto found = std::ranges::find(queues_, stream, &Queue::stream);
  return found != queues_.end() ? *found : queues_.emplace_back(Queue{.stream = stream});
}

void StreamEvents::record(StreamId stream, StreamId name) {
  queue_of(stream).pending.push_back({.name = name, .recorded = ++now_, .launched = launched_});
}

void StreamEvents::wait(StreamId waiting, StreamId other, Moment moment) {
  if (waiting != other && queue_of(other).synced < moment) {
    queue_of(waiting).waits.push_back({.asked = ++now_, .other = other, .moment = moment});
  }
}

void StreamEvents::synchronize(StreamId stream, Moment moment) {
  Queue& queue = queue_of(stream);
  if (queue.synced >= moment) {
    return;
  }
  queue.synced = moment;
  std::vector<Wait> done;
  std::erase_if(queue.waits, [&](const Wait& wait) {
    const bool is_done = wait.asked <= moment;
    if (is_done) {
      done.push_back(wait);
    }
    return is_done;
  });
  for (const Wait& wait : done) {
    synchronize(wait.other, wait.moment);
  }
}

bool StreamEvents::is_ready(const Queue& queue) const {
  const Pending& oldest = queue.pending.front();
  const auto queries = static_cast<std::uint64_t>(oldest.queries);
  return oldest.recorded <= queue.synced ||
         (oldest.queries >= delay_.queries &&
          launched_ - oldest.launched + queries >= static_cast<std::uint64_t>(delay_.launches));
}

std::vector<StreamId> StreamEvents::query() {
  std::vector<StreamId> complete;
  for (Queue& queue : queues_) {
    while (!queue.pending.empty() && is_ready(queue)) {
      complete.push_back(queue.pending.front().name);
      queue.pending.pop_front();
    }
    if (!queue.pending.empty()) {
      ++queue.pending.front().queries;
    }
  }
  return complete;
}

}  // namespace highwater::eager
