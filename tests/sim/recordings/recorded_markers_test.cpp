// What a recording names besides its entries becomes events of the derived trace.
#include "sim/recordings/recorded_markers.hpp"

#include <catch2/catch.hpp>

#include "sim/recordings/derivation.hpp"
#include "sim/recordings/fidelity.hpp"
#include "tests/support/recording_builder.hpp"

using namespace highwater;
using namespace highwater::literals;

namespace {

constexpr std::uint64_t kSegment = 0x7f0000000000;

/// One block of 20 MiB that lives twice, with annotations.
Recording annotated(std::vector<Annotation> annotations) {
  RecordingBuilder builder;
  builder.segment_alloc(kSegment, 20_MiB).alloc(kSegment, 20_MiB).free(kSegment, 20_MiB);
  builder.alloc(kSegment, 20_MiB).free(kSegment, 20_MiB);
  builder.final_segment(kSegment, {{20_MiB, BlockState::inactive}});
  Recording recording = builder.take();
  recording.annotations = std::move(annotations);
  return recording;
}

/// "alloc", "free", "empty_cache", "step 0", "forward", "op ...", ...
std::vector<std::string> events_of(const Recording& recording) {
  const RequestTrace trace =
      derive_requests(recording, recording.devices.front(), Settings{}).requests;
  std::vector<std::string> words;
  for (const Event& event : trace.events) {
    words.push_back(
        event.kind == EventKind::step    ? "step " + std::to_string(event.value)
        : event.kind == EventKind::phase ? std::string(trace.tables.strings[event.text()])
        : event.kind == EventKind::op    ? "op " + std::string(trace.tables.strings[event.text()])
        : event.kind == EventKind::empty_cache ? "empty_cache"
        : event.kind == EventKind::alloc       ? "alloc"
                                               : "free");
  }
  return words;
}

Annotation mark(std::string name, std::uint64_t entry, int device = 0) {
  return {.name = std::move(name), .device = device, .entry = entry};
}

}  // namespace

TEST_CASE("recorded markers: each lies before its entry, in the order of the file",
          "[sim][recorded_markers]") {
  const Recording recording = annotated({mark("init", 0), mark("step 0", 2), mark("forward", 2),
                                         mark("zero_grad", 4), mark("data", 7)});
  CHECK(events_of(recording) == std::vector<std::string>{"init", "alloc", "step 0", "forward",
                                                         "free", "zero_grad", "alloc", "free",
                                                         "data"});
}

TEST_CASE("recorded markers: a profiler's ranges and other devices mark nothing",
          "[sim][recorded_markers]") {
  const Recording recording = annotated({{.name = "step 0", .time_us = 7},
                                         {.name = "forward", .is_start = false, .entry = 2},
                                         mark("backward", 2, 1)});
  CHECK(events_of(recording) == std::vector<std::string>{"alloc", "free", "alloc", "free"});
}

TEST_CASE("recorded markers: a name that only begins like a step is a phase's",
          "[sim][recorded_markers]") {
  const Recording recording = annotated({mark("step by step", 0), mark("step -1", 0)});
  CHECK(events_of(recording) ==
        std::vector<std::string>{"step by step", "step -1", "alloc", "free", "alloc", "free"});
}

TEST_CASE("recorded markers: the recording is followed as without them",
          "[sim][recorded_markers]") {
  const Recording recording = annotated({mark("init", 0), mark("step 0", 3), mark("data", 4)});
  const RecordedDevice& device = recording.devices.front();
  const DerivedTrace derived = derive_requests(recording, device, Settings{});
  CHECK(
      replay_as_recorded(device, derived, Settings{}, version_preset("2.6")).fidelity.is_perfect());
}

TEST_CASE("recorded markers: captures of CUDA graphs are no phases", "[sim][recorded_markers]") {
  const Recording recording =
      annotated({mark("cuda graph capture begins", 0), mark("cuda graph capture ends", 4)});
  CHECK(events_of(recording) == std::vector<std::string>{"op cuda graph capture begins", "alloc",
                                                         "free", "op cuda graph capture ends",
                                                         "alloc", "free"});
}

TEST_CASE("recorded markers: an empty_cache that released nothing is known all the same",
          "[sim][recorded_markers]") {
  const Recording recording = annotated({mark("allocator: empty_cache", 2)});
  CHECK(events_of(recording) ==
        std::vector<std::string>{"alloc", "empty_cache", "free", "alloc", "free"});
}

TEST_CASE("recorded markers: an empty_cache is one with what it released",
          "[sim][recorded_markers]") {
  RecordingBuilder builder;
  builder.segment_alloc(kSegment, 20_MiB).alloc(kSegment, 20_MiB).free(kSegment, 20_MiB);
  builder.segment_free(kSegment, 20_MiB);
  Recording recording = builder.take();
  recording.annotations = {mark("allocator: empty_cache", 3)};
  CHECK(events_of(recording) == std::vector<std::string>{"alloc", "free", "empty_cache"});
  const RecordedDevice& device = recording.devices.front();
  const DerivedTrace derived = derive_requests(recording, device, Settings{});
  CHECK(
      replay_as_recorded(device, derived, Settings{}, version_preset("2.6")).fidelity.is_perfect());
}
