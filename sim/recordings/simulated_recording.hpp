// A replay written down as the real allocator would have recorded it: the way back from requests
// to a recording.
//
// The recorder watches a replay. Every decision becomes an entry with the call stack that PyTorch
// would note there; the final memory map becomes the segments. A recorded process that behaves as
// the model does would leave exactly this history.
// Source: record_trace and its callers in c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.6.0.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/recordings/event_times.hpp"
#include "sim/replay/replay_result.hpp"
#include "sim/replay/state_observer.hpp"
#include "traces/recording.hpp"
#include "traces/request_trace.hpp"

namespace highwater {

class SimulatedRecorder : public StateObserver, public DecisionListener {
 public:
  /// `trace` is what is replayed and must outlive the recorder.
  SimulatedRecorder(const RequestTrace& trace, EventTimes times, int device);

  void on_begin(const CachingAllocator& allocator, const TraceDriver& driver) override;
  void on_decision(const Decision& decision) override;
  void on_state(const Event& event, AllocationStatus status, const CachingAllocator& allocator,
                const TraceDriver& driver) override;

  [[nodiscard]] DecisionListener* listener() override { return this; }

  /// The device with the segments of `map`, the state at the end. Streams that no entry and no
  /// segment names are left out. To be called once.
  RecordedDevice take_device(const MemoryMap& map);

  /// Steps and phases as ranges of time: "step 3", "forward". To be called once, last.
  std::vector<Annotation> take_annotations();

 private:
  [[nodiscard]] StackId stack_for(const RecordedEntry& entry, const Event& event) const;
  void remember(const RecordedEntry& entry);
  void mark(const Event& event, std::int64_t time);
  void open(std::optional<std::string>& range, std::string name, std::int64_t time);
  void close(std::optional<std::string>& range, std::int64_t time);
  [[nodiscard]] RecordedSegment recorded(const MapSegment& segment) const;
  void keep_used_streams();

  const RequestTrace* trace_;
  EventTimes times_;
  RecordedDevice device_;
  std::size_t next_event_ = 0;
  std::size_t settled_ = 0;     ///< entries that have their stack and time
  std::int64_t last_time_ = 0;  ///< of the event before
  std::unordered_map<std::uint64_t, StackId> block_stacks_;    ///< active blocks by address
  std::unordered_map<std::uint64_t, StackId> segment_stacks_;  ///< segments by address
  std::optional<std::string> open_step_;
  std::optional<std::string> open_phase_;
  std::vector<Annotation> annotations_;
};

/// allocator_settings as a process under `settings` would write it.
RecordedSettings recorded_settings(const Settings& settings);

/// The releases whose files `version` stands for.
WriterVersion writer_of(const VersionPreset& version);

}  // namespace highwater
