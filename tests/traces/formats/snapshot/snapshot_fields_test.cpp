// Rules: every field of every generation of snapshot arrives in the Recording as documented.
#include <catch2/catch.hpp>

#include "tests/support/snapshot_reading.hpp"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::literals;

namespace {

constexpr std::uint64_t kBase = 0x7f0000000000;
constexpr std::uint64_t kUnsignedMinusOne = ~std::uint64_t{0};

RecordedEntry first_entry(const PyValue& entry) {
  return read_value(snapshot_of_entries({entry})).devices.at(0).entries[0];
}

RecordedSegment first_segment(const PyValue& segment, Dialect dialect = Dialect::python) {
  return read_value(snapshot_of_segments({segment}), dialect).devices.at(0).segments.at(0);
}

}  // namespace

TEST_CASE("snapshot: a whole file reads the same in both dialects", "[traces][snapshot]") {
  const Dialect dialect = GENERATE(Dialect::python, Dialect::cpp);
  const Recording recording = read_value(sample_snapshot(), dialect);
  REQUIRE(recording.devices.size() == 1);
  const RecordedDevice& device = recording.devices[0];
  REQUIRE(device.entries.size() == 2);
  CHECK(device.entries[0].action == RecordedAction::alloc);
  CHECK(device.entries[0].address == Address{kBase});
  CHECK(device.entries[0].size == 1000_B);
  CHECK(device.entries[0].time_us == 1700000000000000);
  CHECK(device.entries[1].action == RecordedAction::free_completed);
  CHECK(device.action_counts[0] == 1);
  CHECK(device.action_counts[2] == 1);
  CHECK(device.stream_handles == std::vector<std::uint64_t>{0});

  REQUIRE(device.segments.size() == 1);
  const RecordedSegment& segment = device.segments[0];
  CHECK(segment.range() == AddressRange{Address{kBase}, 2_MiB});
  CHECK_FALSE(segment.is_large);
  REQUIRE(segment.blocks.size() == 2);
  CHECK(segment.blocks[0].requested == 1000_B);
  CHECK(segment.blocks[0].state == BlockState::active_allocated);

  REQUIRE(recording.settings);
  CHECK(recording.settings->conf == "max_split_size_mb:64");
  CHECK(recording.settings->max_split_size == 67108864);
  CHECK(recording.settings->garbage_collection_threshold == 0.5);
  CHECK(recording.settings->expandable_segments == false);
  CHECK(recording.settings->roundup_power2_divisions ==
        std::map<std::uint64_t, std::uint64_t>{{1, 0}, {2, 4}});
  REQUIRE(recording.annotations.size() == 1);
  CHECK(recording.annotations[0] ==
        Annotation{"Optimizer.step#AdamW.step", false, 0, 1700000000000001});
  CHECK(recording.unknown_keys.empty());
}

TEST_CASE("snapshot: an inactive block's requested size is stale and read as 0",
          "[traces][snapshot]") {
  CHECK(first_segment(sample_segment()).blocks.at(1).requested == 0_B);
}

TEST_CASE("snapshot: block states have two spellings, and a new one means in use",
          "[traces][snapshot]") {
  const auto [text, state] = GENERATE(table<std::string, BlockState>({
      {"active_allocated", BlockState::active_allocated},
      {"active_pending_free", BlockState::active_pending_free},
      {"active_awaiting_free", BlockState::active_pending_free},
      {"something_new", BlockState::active_allocated},
  }));
  const PyValue block = sample_block().with("state", text).with("size", 2097152);
  CHECK(first_segment(sample_segment().with("blocks", PyValue::list({block}))).blocks.at(0).state ==
        state);
}

TEST_CASE("snapshot: torch 2.0's blocks get addresses by running sum and requests from history",
          "[traces][snapshot]") {
  const Dialect dialect = GENERATE(Dialect::python, Dialect::cpp);
  const PyValue newest = PyValue::dict({{"addr", std::int64_t{kBase}},
                                        {"real_size", 900},
                                        {"frames", PyValue::list({sample_frame()})}});
  const PyValue oldest = newest.with("real_size", 5);
  const PyValue used = PyValue::dict({{"size", 1024},
                                      {"state", "active_allocated"},
                                      {"history", PyValue::list({newest, oldest})}});
  const PyValue free = PyValue::dict(
      {{"size", 2096128}, {"state", "inactive"}, {"history", PyValue::list({oldest})}});
  const PyValue segment = PyValue::dict({{"device", 1},
                                         {"address", std::int64_t{kBase}},
                                         {"total_size", 2097152},
                                         {"allocated_size", 1024},
                                         {"active_size", 1024},
                                         {"stream", 0},
                                         {"segment_type", "large"},
                                         {"blocks", PyValue::list({used, free})}});
  const Recording recording = read_value(snapshot_of_segments({segment}), dialect, StackMode::keep);
  REQUIRE(recording.devices.size() == 1);
  CHECK(recording.devices[0].index == 1);
  const RecordedSegment& read = recording.devices[0].segments.at(0);
  CHECK(read.is_large);
  CHECK(read.blocks.at(0).requested == 900_B);
  CHECK(read.blocks.at(0).stack.has_value());
  CHECK(read.blocks.at(1).address == Address{kBase + 1024});
  CHECK(read.blocks.at(1).requested == 0_B);
  CHECK(recording.writer == WriterVersion{"1.13", "2.0"});
}

TEST_CASE("snapshot: a bare list of segments is a snapshot without a trace", "[traces][snapshot]") {
  const Recording recording = read_value(PyValue::list({sample_segment()}));
  REQUIRE(recording.devices.size() == 1);
  CHECK(recording.devices[0].entries.empty());
  CHECK(recording.devices[0].segments.size() == 1);
  CHECK(read_value(PyValue::list({})).devices.empty());
}

TEST_CASE("snapshot: a device with neither entries nor segments is left out",
          "[traces][snapshot]") {
  const PyValue empty = PyValue::list({});
  const Recording recording = read_value(PyValue::dict(
      {{"segments", PyValue::list({})},
       {"device_traces", PyValue::list({empty, PyValue::list({}), PyValue::list({sample_entry()}),
                                        PyValue::list({})})}}));
  REQUIRE(recording.devices.size() == 1);
  CHECK(recording.devices[0].index == 2);
}

TEST_CASE("snapshot: a device that only notes snapshots is left out beside one that was used",
          "[traces][snapshot]") {
  const PyValue mark = sample_entry().with("action", "snapshot").with("addr", 0).with("size", 0);
  const auto devices_of = [](const PyValue& first, const PyValue& second) {
    return read_value(PyValue::dict({{"segments", PyValue::list({})},
                                     {"device_traces", PyValue::list({PyValue::list({first}),
                                                                      PyValue::list({second})})}}))
        .devices;
  };
  const std::vector<RecordedDevice> used = devices_of(mark, sample_entry());
  REQUIRE(used.size() == 1);
  CHECK(used[0].index == 1);
  CHECK(devices_of(mark, mark).size() == 2);
}

TEST_CASE("snapshot: an out-of-memory entry has the driver's free bytes in place of an address",
          "[traces][snapshot]") {
  const RecordedEntry oom = first_entry(
      sample_entry().without("addr").with("action", "oom").with("device_free", 95682560));
  CHECK(oom.action == RecordedAction::oom);
  CHECK(oom.device_free() == Bytes{95682560});
}

TEST_CASE("snapshot: fields that older releases lack stay at their defaults",
          "[traces][snapshot]") {
  const RecordedEntry entry = first_entry(sample_entry().without("time_us").without("frames"));
  CHECK(entry.time_us == -1);
  CHECK(entry.stack == StackId::none());
  const RecordedSegment segment = first_segment(sample_segment()
                                                    .without("is_expandable")
                                                    .without("segment_pool_id")
                                                    .without("requested_size")
                                                    .without("frames"));
  CHECK_FALSE(segment.is_expandable);
  CHECK(segment.pool.is_default());
}

TEST_CASE("snapshot: actions of no use are counted by name", "[traces][snapshot]") {
  const Recording recording = read_value(snapshot_of_entries(
      {sample_entry(), PyValue::dict({{"action", "annotate"}, {"addr", 0}, {"size", 0}}),
       PyValue::dict({{"action", "brand_new"}}), PyValue::dict({{"action", "brand_new"}})}));
  const RecordedDevice& device = recording.devices.at(0);
  CHECK(device.entries[1].action == RecordedAction::ignored);
  CHECK(device.action_counts[9] == 3);
  CHECK(device.unknown_actions ==
        std::map<std::string, std::uint64_t>{{"annotate", 1}, {"brand_new", 2}});
}

TEST_CASE("snapshot: unknown keys are skipped with any value, and counted", "[traces][snapshot]") {
  const PyValue odd = PyValue::dict(
      {{"a", PyValue::list({1, 2.5, PyValue(), true, "x"})}, {"b", PyValue::tuple({1, 2, 3, 4})}});
  const Recording recording = read_value(
      snapshot_of_entries({sample_entry().with("flavour", odd), sample_entry().with("flavour", 1)})
          .with("segments",
                PyValue::list(
                    {sample_segment()
                         .with("zone", PyValue::tuple({}))
                         .with("blocks",
                               PyValue::list(
                                   {sample_block().with("colour", odd).with("size", 2097152)}))}))
          .with("host", odd));
  CHECK(recording.unknown_keys ==
        std::map<std::string, std::uint64_t>{
            {"trace_entry.flavour", 2}, {"segment.zone", 1}, {"block.colour", 1}, {"host", 1}});
}

TEST_CASE("snapshot: a lookalike under an unknown key need not be well-formed",
          "[traces][snapshot]") {
  const PyValue odd = PyValue::list({PyValue::dict({{"action", 5}}), sample_entry(),
                                     PyValue::dict({{"state", 1}, {"size", "big"}})});
  const Recording recording = read_value(
      snapshot_of_entries({sample_entry().with("inner", odd)}).with("recent_events", odd));
  CHECK(recording.devices.at(0).entries.size() == 1);
  CHECK(recording.unknown_keys ==
        std::map<std::string, std::uint64_t>{{"recent_events", 1}, {"trace_entry.inner", 1}});
}

TEST_CASE("snapshot: stream handles are sorted per device and named by index",
          "[traces][snapshot]") {
  const std::int64_t high = 123323568;
  const Recording recording = read_value(
      snapshot_of_entries({sample_entry().with("stream", high), sample_entry().with("stream", 0),
                           sample_entry().with("stream", 7), sample_entry().with("stream", high)}));
  const RecordedDevice& device = recording.devices.at(0);
  CHECK(device.stream_handles == std::vector<std::uint64_t>{0, 7, 123323568});
  CHECK(device.entries[0].stream == 2);
  CHECK(device.entries[1].stream == 0);
  CHECK(device.entries[2].stream == 1);
  CHECK(device.entries[3].stream == 2);
}

TEST_CASE("snapshot: a stream handle above 2^63 keeps its bits in both dialects",
          "[traces][snapshot]") {
  const Dialect dialect = GENERATE(Dialect::python, Dialect::cpp);
  const std::uint64_t handle = 0xffff800012345678;
  const Recording recording =
      read_value(snapshot_of_entries({sample_entry().with("stream", handle)}), dialect);
  CHECK(recording.devices.at(0).stream_handles == std::vector<std::uint64_t>{handle});
}

TEST_CASE("snapshot: entries name their pools in the device's own table", "[traces][snapshot]") {
  const Recording recording = read_value(
      snapshot_of_entries({sample_entry().with("pool_id", PyValue::tuple({0, 3})), sample_entry(),
                           sample_entry().with("pool_id", PyValue::tuple({0, 0})),
                           sample_entry().with("pool_id", PyValue::tuple({5, 0}))}));
  const RecordedDevice& device = recording.devices.at(0);
  CHECK(device.pools == std::vector<PoolId>{{0, 0}, {0, 3}, {5, 0}});
  CHECK(device.entries[0].pool == 1);
  CHECK(device.entries[1].pool == 0);
  CHECK(device.entries[2].pool == 0);
  CHECK(device.entries[3].pool == 2);
  CHECK(recording.writer == WriterVersion{"2.12", ""});
}

TEST_CASE("snapshot: segments are sorted by address within their device", "[traces][snapshot]") {
  const PyValue block = sample_block().with("size", 2097152).without("address");
  const PyValue low = sample_segment().with("blocks", PyValue::list({block}));
  const PyValue high = low.with("address", std::int64_t{kBase + (1 << 30)});
  const Recording recording = read_value(snapshot_of_segments({high, low.with("device", 3), low}));
  REQUIRE(recording.devices.size() == 2);
  CHECK(recording.devices[0].segments.at(0).address == Address{kBase});
  CHECK(recording.devices[0].segments.at(1).address == Address{kBase + (1 << 30)});
  CHECK(recording.devices[1].index == 3);
}

TEST_CASE("snapshot: missing settings stay unknown, and -1 may be unsigned", "[traces][snapshot]") {
  const auto settings = [](const PyValue& dict) {
    return read_value(snapshot_of_entries({}).with("allocator_settings", dict)).settings;
  };
  const auto none = settings(PyValue::dict({{"PYTORCH_ALLOC_CONF", "a:b"}, {"new_key", 1}}));
  REQUIRE(none);
  CHECK(none->conf == "a:b");
  CHECK_FALSE(none->max_split_size);
  CHECK_FALSE(none->expandable_segments);
  CHECK(settings(PyValue::dict({{"max_split_size", kUnsignedMinusOne}}))->max_split_size == -1);
  CHECK_FALSE(read_value(snapshot_of_entries({})).settings);
}
