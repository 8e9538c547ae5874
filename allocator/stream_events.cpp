#include "allocator/stream_events.hpp"

namespace highwater {

void StreamEvents::record(StreamId stream, BlockId block) {
  if (queues_.size() <= stream.index()) {
    queues_.resize(stream.index() + 1);
  }
  Queue& queue = queues_[stream.index()];
  queue.events.push_back({++queue.recorded, block});
  ++waiting_;
}

void StreamEvents::complete(StreamId stream) {
  if (stream.index() < queues_.size()) {
    queues_[stream.index()].completed = queues_[stream.index()].recorded;
  }
}

void StreamEvents::complete_all() {
  for (Queue& queue : queues_) {
    queue.completed = queue.recorded;
  }
}

}  // namespace highwater
