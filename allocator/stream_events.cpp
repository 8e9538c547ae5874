#include "allocator/stream_events.hpp"

#include <utility>

namespace highwater {

void StreamEvents::record(StreamId stream, BlockId block) {
  recorded_[stream].push_back(block);
}

void StreamEvents::complete(StreamId stream) {
  const auto queue = recorded_.find(stream);
  if (queue != recorded_.end()) {
    complete(stream, std::move(queue->second));
    recorded_.erase(queue);
  }
}

void StreamEvents::complete_all() {
  for (auto& [stream, queue] : recorded_) {
    complete(stream, std::move(queue));
  }
  recorded_.clear();
}

void StreamEvents::complete(StreamId stream, Queue queue) {
  const auto [position, is_first] = completed_.try_emplace(stream, std::move(queue));
  if (!is_first) {
    Queue& earlier = position->second;
    earlier.insert(earlier.end(), queue.begin(), queue.end());
  }
}

}  // namespace highwater
