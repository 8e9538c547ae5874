// Streams while a trace is being read.
//
// StreamIds follow the order of the raw handles, which is known only at the end; until then streams
// are numbered as they appear.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "traces/chunked_vector.hpp"
#include "traces/event.hpp"
#include "traces/ids.hpp"

namespace highwater {

class StreamNumbers {
 public:
  StreamId id_of(std::uint64_t handle) {
    if (handle != last_.first || !last_.second.has_value()) {
      last_ = {handle, ids_.try_emplace(handle, StreamId{ids_.size()}).first->second};
    }
    return last_.second;
  }

  /// Renumbers the events and returns the handles, ascending.
  std::vector<std::uint64_t> sort(ChunkedVector<Event>& events) const {
    std::vector<std::uint64_t> handles;
    std::vector<StreamId> sorted(ids_.size());
    for (const auto& [handle, id] : ids_) {  // a std::map: ascending
      sorted[id.index()] = StreamId{handles.size()};
      handles.push_back(handle);
    }
    for (std::size_t i = 0; i < events.size(); ++i) {
      if (events[i].stream.has_value()) {
        events[i].stream = sorted[events[i].stream.index()];
      }
    }
    return handles;
  }

 private:
  std::map<std::uint64_t, StreamId> ids_;
  std::pair<std::uint64_t, StreamId> last_;
};

}  // namespace highwater
