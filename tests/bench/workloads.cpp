#include "tests/bench/workloads.hpp"

#include <functional>
#include <random>
#include <variant>

#include "sim/recordings/derivation.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/bytes/byte_source.hpp"

namespace highwater::bench {
namespace {

constexpr std::size_t kLive = 1000;  ///< blocks alive at once in the random workloads

/// The requests of recorded real training, over and over; what is left of one round is freed
/// before the next.
Workload recorded(const std::string& name, const std::string& file, const std::string& conf,
                  std::size_t length) {
  const auto content =
      read_binary_trace(*open_source(HIGHWATER_RECORDED_DATA "/fake/" + file + ".hwt.xz"));
  const auto& recording = std::get<Recording>(content);
  const DerivedTrace derived = derive_requests(recording, recording.devices.front(), Settings{});
  Workload workload{
      name, conf, {}, derived.requests.allocation_count, derived.requests.stream_handles.size()};
  while (workload.operations.size() < length) {
    std::vector<bool> live(workload.slots);
    for (const Event& event : derived.requests.events) {
      const std::uint32_t slot = event.allocation.value();
      if (event.kind == EventKind::alloc && event.value != 0) {
        workload.operations.push_back({event.bytes(), slot, event.stream, OperationKind::alloc});
        live[slot] = true;
      } else if (event.kind == EventKind::free && live[slot]) {
        workload.operations.push_back({Bytes{}, slot, event.stream, OperationKind::free});
        live[slot] = false;
      }
    }
    for (std::uint32_t slot = 0; slot < live.size(); ++slot) {
      if (live[slot]) {
        workload.operations.push_back({Bytes{}, slot, StreamId{}, OperationKind::free});
      }
    }
  }
  return workload;
}

/// A random slot is freed, or allocated if it is free.
Workload random(const std::string& name, const std::string& conf, std::size_t length,
                const std::function<Bytes(std::mt19937_64&)>& size, std::size_t streams = 1) {
  std::mt19937_64 generator(42);
  Workload workload{name, conf, {}, kLive * 2, streams};
  std::vector<StreamId> live(workload.slots);
  while (workload.operations.size() < length) {
    const auto slot = static_cast<std::uint32_t>(generator() % workload.slots);
    if (live[slot].has_value()) {
      if (streams > 1 && generator() % 20 == 0) {
        const StreamId other{static_cast<std::uint32_t>(generator() % streams)};
        workload.operations.push_back({Bytes{}, slot, other, OperationKind::record_stream});
      }
      workload.operations.push_back({Bytes{}, slot, live[slot], OperationKind::free});
      live[slot] = StreamId::none();
    } else {
      live[slot] = StreamId{static_cast<std::uint32_t>(generator() % streams)};
      workload.operations.push_back({size(generator), slot, live[slot], OperationKind::alloc});
    }
    if (streams > 1 && generator() % 50 == 0) {
      const StreamId done{static_cast<std::uint32_t>(generator() % streams)};
      workload.operations.push_back({Bytes{}, 0, done, OperationKind::events_done});
    }
  }
  return workload;
}

/// Sizes of all magnitudes: 512 bytes to 64 MiB, equally likely per doubling.
Bytes mixed_size(std::mt19937_64& generator) {
  const std::uint64_t magnitude = std::uint64_t{512} << (generator() % 17);
  return Bytes{magnitude + generator() % magnitude};
}

Bytes tiny_size(std::mt19937_64& generator) {
  return Bytes{1 + generator() % 16384};
}

}  // namespace

std::vector<MakeWorkload> training_makers() {
  const std::string fixed = "gpt2-fp32-adamw-default";
  const std::string varying = "long-llama-1b-default";
  const std::string expandable = "expandable_segments:True";
  return {
      [=](auto n) { return recorded("training, fixed shapes (GPT-2)", fixed, "", n); },
      [=](auto n) { return recorded("training, varying length (Llama 1B)", varying, "", n); },
      [=](auto n) { return recorded("training, fixed, expandable", fixed, expandable, n); },
      [=](auto n) { return recorded("training, varying, expandable", varying, expandable, n); },
  };
}

std::vector<MakeWorkload> workload_makers() {
  const std::string expandable = "expandable_segments:True";
  std::vector<MakeWorkload> makers = training_makers();
  makers.insert(
      makers.end(),
      {
          [=](auto n) { return random("mixed sizes", "", n, mixed_size); },
          [=](auto n) { return random("tiny blocks", "", n, tiny_size); },
          [=](auto n) { return random("3 streams, record_stream", "", n, mixed_size, 3); },
          [=](auto n) { return random("mixed sizes, expandable", expandable, n, mixed_size); },
      });
  return makers;
}

}  // namespace highwater::bench
