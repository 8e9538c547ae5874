// Snapshots and profilers' traces as JSON: what they mean, and what is no JSON.
#include <span>
#include <string>

#include <catch2/catch.hpp>

#include "traces/error.hpp"
#include "traces/formats/json/json_snapshot.hpp"
#include "traces/formats/json/profiler_trace.hpp"

using namespace highwater;

namespace {

std::unique_ptr<ByteSource> source_of(const std::string& text) {
  return memory_source(std::as_bytes(std::span(text)), "x.json");
}

Recording snapshot_of(const std::string& text) {
  return read_json_snapshot(*source_of(text), {});
}

ProfilerTrace profile_of(const std::string& text) {
  return read_profiler_trace(*source_of(text));
}

std::string memory_event(double time, long bytes, int address, long allocated, long reserved) {
  return R"({"ph": "i", "name": "[memory]", "ts": )" + std::to_string(time) +
         R"(, "args": {"Bytes": )" + std::to_string(bytes) + R"(, "Addr": )" +
         std::to_string(address) + R"(, "Total Allocated": )" + std::to_string(allocated) +
         R"(, "Total Reserved": )" + std::to_string(reserved) +
         R"(, "Device Type": 1, "Device Id": 0}})";
}

}  // namespace

TEST_CASE("json: a snapshot means what its pickle means", "[traces][formats]") {
  const Recording recording = snapshot_of(R"({
    "segments": [{"device": 0, "address": 4096, "total_size": 2097152, "stream": 0,
      "segment_type": "small", "segment_pool_id": [0, 3], "is_expandable": false,
      "blocks": [{"address": 4096, "size": 2097152, "requested_size": 0, "state": "inactive"}]}],
    "device_traces": [[{"action": "alloc", "addr": 4096, "size": 1000, "stream": 0,
                        "frames": [{"name": "f", "filename": "a.py", "line": 3}]},
                       {"action": "free_completed", "addr": 4096, "size": 1000, "stream": 0}]],
    "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "expandable_segments": false}})");
  REQUIRE(recording.devices.size() == 1);
  const RecordedDevice& device = recording.devices.front();
  CHECK(device.entries.size() == 2);
  CHECK(device.entries[0].size == Bytes{1000});
  REQUIRE(device.segments.size() == 1);
  CHECK(device.segments[0].pool == PoolId{0, 3});
  CHECK(recording.settings->expandable_segments == false);
}

TEST_CASE("json: what is wrong has a place", "[traces][formats]") {
  CHECK_THROWS_WITH(snapshot_of("{\"segments\": [}"), Catch::Contains("x.json: byte 14: not JSON"));
  CHECK_THROWS_WITH(snapshot_of("{\"segments\": ["), Catch::Contains("the JSON ends too early"));
  CHECK_THROWS_WITH(snapshot_of("{} x"), Catch::Contains("not JSON"));
  CHECK_THROWS_WITH(snapshot_of(R"({"segments": 3, "device_traces": []})"),
                    Catch::Contains("segments"));
  CHECK_THROWS_AS(snapshot_of(std::string(1000, '[')), InputError);
}

TEST_CASE("json: a profiler's events are requests, in the order of time", "[traces][formats]") {
  const ProfilerTrace trace =
      profile_of(R"({"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": [)" +
                 memory_event(2, -512, 4096, 1024, 2097152) + "," +
                 memory_event(1, 1024, 8192, 1536, 2097152) + R"(,
      {"ph": "X", "name": "aten::mm", "ts": 1.5, "args": {"Bytes": 7, "Device Type": 1}},
      {"ph": "i", "name": "[memory]", "ts": 1, "args": {"Bytes": 64, "Addr": 1, "Device Type": 0}}]})");
  // Before the first event 512 bytes were allocated: the block that the last one frees.
  REQUIRE(trace.requests.events.size() == 3);
  CHECK(trace.requests.events[0].bytes() == Bytes{512});
  CHECK(trace.requests.events[1].bytes() == Bytes{1024});
  CHECK(trace.requests.events[2].kind == EventKind::free);
  CHECK(trace.requests.events[2].allocation == trace.requests.events[0].allocation);
  CHECK(trace.run.peak_allocated == Bytes{1536});
  CHECK(trace.run.peak_reserved == Bytes{2097152});
  CHECK(trace.run.older == Bytes{0});
}

TEST_CASE("json: what was allocated before a profile and outlives it is one block",
          "[traces][formats]") {
  const ProfilerTrace trace = profile_of("[" + memory_event(1, 1024, 8192, 5120, 2097152) + "]");
  CHECK(trace.run.older == Bytes{4096});
  CHECK(trace.requests.events[0].bytes() == Bytes{4096});
  CHECK_THROWS_WITH(profile_of(R"({"traceEvents": []})"), Catch::Contains("no memory events"));
}
