#include "allocator/stream_events.hpp"

namespace highwater {

void StreamEvents::record(StreamId stream, BlockId block) {
  recorded_[stream].push_back(block);
}

void StreamEvents::complete(StreamId stream) {
  if (auto queue = recorded_.extract(stream)) {
    complete(std::move(queue));
  }
}

void StreamEvents::complete_all() {
  while (!recorded_.empty()) {
    complete(recorded_.extract(recorded_.begin()));
  }
}

void StreamEvents::complete(Queues::node_type queue) {
  auto inserted = completed_.insert(std::move(queue));
  if (!inserted.inserted) {
    std::vector<BlockId>& earlier = inserted.position->second;
    earlier.insert(earlier.end(), inserted.node.mapped().begin(), inserted.node.mapped().end());
  }
}

}  // namespace highwater
