#include "workloads/eager/stream_events.hpp"

#include <algorithm>

namespace highwater::eager {

StreamEvents::Queue& StreamEvents::queue_of(StreamId stream) {
  const auto found = std::ranges::find(queues_, stream, &Queue::stream);
  return found != queues_.end() ? *found : queues_.emplace_back(Queue{.stream = stream});
}

void StreamEvents::record(StreamId stream, StreamId name) {
  queue_of(stream).pending.push_back({.name = name, .launched = launched_});
}

std::uint64_t StreamEvents::recorded(StreamId stream) const {
  const auto found = std::ranges::find(queues_, stream, &Queue::stream);
  return found == queues_.end() ? 0 : found->popped + found->pending.size();
}

void StreamEvents::wait(StreamId stream, std::uint64_t count) {
  Queue& queue = queue_of(stream);
  queue.waited = std::max(queue.waited, count);
}

void StreamEvents::synchronize() {
  for (Queue& queue : queues_) {
    queue.synced = queue.waited;
  }
}

bool StreamEvents::is_ready(const Queue& queue) const {
  const Pending& oldest = queue.pending.front();
  const auto queries = static_cast<std::uint64_t>(oldest.queries);
  return queue.popped < queue.synced ||
         (oldest.queries >= delay_.queries &&
          launched_ - oldest.launched + queries >= static_cast<std::uint64_t>(delay_.launches));
}

std::vector<StreamId> StreamEvents::query() {
  std::vector<StreamId> complete;
  for (Queue& queue : queues_) {
    while (!queue.pending.empty() && is_ready(queue)) {
      complete.push_back(queue.pending.front().name);
      queue.pending.pop_front();
      ++queue.popped;
    }
    if (!queue.pending.empty()) {
      ++queue.pending.front().queries;
    }
  }
  return complete;
}

}  // namespace highwater::eager
