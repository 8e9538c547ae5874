// Rules: a recording written as a snapshot reads as the same recording; the bytes are Python's.
#include "traces/formats/snapshot/snapshot_writer.hpp"

#include <array>
#include <filesystem>
#include <map>
#include <string>
#include <variant>

#include <catch2/catch.hpp>

#include "tests/support/recording_builder.hpp"
#include "tests/support/snapshot_reading.hpp"
#include "tests/support/trace_equality.hpp"
#include "traces/formats/binary/binary_trace.hpp"
#include "traces/formats/pickle/pickle_writer.hpp"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::literals;

namespace {

Bytestring written(const Recording& recording) {
  MemorySink sink;
  write_torch_snapshot(recording, sink);
  CHECK(sink.is_committed());
  Bytestring bytes;
  for (const std::byte b : sink.bytes()) {
    bytes.push_back(static_cast<Bytestring::value_type>(b));
  }
  return bytes;
}

Recording through_pickle(const Recording& recording) {
  return read_bytes(written(recording), StackMode::keep);
}

std::string text_of(const SideTables& tables, StackId stack) {
  if (!stack.has_value()) {
    return "none";
  }
  std::string text;
  for (const FrameId id : tables.stacks.stack(stack)) {
    const Frame& frame = tables.stacks.frame(id);
    text += std::string(tables.strings[frame.file]) + ":" + std::to_string(frame.line) + " " +
            std::string(tables.strings[frame.function]) + "\n";
  }
  return text;
}

// Strings may be numbered in another order; so each stack of `recording` is given the number that
// `tables` have for the same text.
void renumber_stacks(Recording& recording, const SideTables& tables) {
  std::map<std::string, StackId> ids;
  for (std::size_t i = 0; i < tables.stacks.stack_count(); ++i) {
    ids[text_of(tables, StackId{i})] = StackId{i};
  }
  const auto renumber = [&](StackId& stack) { stack = ids[text_of(recording.tables, stack)]; };
  for (RecordedDevice& device : recording.devices) {
    for (std::size_t i = 0; i < device.entries.size(); ++i) {
      renumber(device.entries[i].stack);
    }
    for (RecordedSegment& segment : device.segments) {
      renumber(segment.stack);
      for (RecordedBlock& block : segment.blocks) {
        renumber(block.stack);
      }
    }
  }
}

template <class Write>
std::string opcodes(Write write) {
  MemorySink sink;
  detail::PickleWriter writer(sink);
  write(writer);
  writer.finish();
  std::string hex;
  for (std::size_t i = 2; i + 1 < sink.bytes().size(); ++i) {  // between PROTO 4 and STOP
    constexpr std::string_view kDigits = "0123456789abcdef";
    const auto byte = std::to_integer<unsigned>(sink.bytes()[i]);
    hex += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return hex;
}

std::string integer(std::int64_t value) {
  return opcodes([&](detail::PickleWriter& out) { out.integer(value); });
}

std::string list_of(std::size_t items) {
  return opcodes([&](detail::PickleWriter& out) {
    auto list = detail::PickleBatches::list(out);
    for (std::size_t i = 0; i < items; ++i) {
      list.next();
      out.boolean(true);
    }
    list.finish();
  });
}

}  // namespace

// By hand, from the opcode descriptions of Lib/pickletools.py.
TEST_CASE("pickle writer: integers take the shortest opcode that keeps the sign",
          "[traces][pickle]") {
  CHECK(integer(0) == "4b00");
  CHECK(integer(255) == "4bff");
  CHECK(integer(256) == "4d0001");
  CHECK(integer(65535) == "4dffff");
  CHECK(integer(65536) == "4a00000100");
  CHECK(integer(-1) == "4affffffff");
  CHECK(integer(2147483647) == "4affffff7f");
  CHECK(integer(2147483648) == "8a050000008000");
  CHECK(integer(-2147483649) == "8a05ffffff7fff");
  CHECK(integer(0x7f0000000000) == "8a0600000000007f");
  CHECK(opcodes([](auto& out) { out.natural(~std::uint64_t{0}); }) == "8a09ffffffffffffffff00");
}

TEST_CASE("pickle writer: texts are counted in bytes, and what is no UTF-8 is replaced",
          "[traces][pickle]") {
  CHECK(opcodes([](auto& out) { out.text("a\xC3\xA9"); }) == "8c0361c3a9");
  CHECK(opcodes([](auto& out) { out.text("\xFF"); }) == "8c03efbfbd");
  const std::string text = opcodes([](auto& out) { out.text(std::string(256, 'x')); });
  CHECK(text.substr(0, 10) == "5800010000");
}

TEST_CASE("pickle writer: lists come in batches of 1000", "[traces][pickle]") {
  CHECK(list_of(0) == "5d");
  CHECK(list_of(2) == "5d28888865");
  const std::string thousand = list_of(1000);
  CHECK(thousand == "5d28" + thousand.substr(4, 2000) + "65");
  CHECK(list_of(1001) == thousand + "288865");
}

TEST_CASE("snapshot writer: a recording reads back as it was", "[traces][snapshot]") {
  RecordingBuilder builder;
  builder.segment_alloc(0x7f00'0000'0000, 20_MiB).alloc(0x7f00'0000'0000, 3_MiB);
  builder.entry(RecordedAction::oom, 12345, 1_GiB, 1);
  builder.entry(RecordedAction::segment_map, 0x6020'0000'0000, 20_MiB, 1);
  builder.final_segment(0x7f00'0000'0000,
                        {{3_MiB, BlockState::active_allocated}, {17_MiB, BlockState::inactive}},
                        PoolId{0, 2});
  Recording recording = builder.take();
  recording.writer = {"2.5", "2.7"};
  recording.settings = RecordedSettings{.conf = "max_split_size_mb:64",
                                        .max_split_size = 67108864,
                                        .garbage_collection_threshold = 0.75,
                                        .expandable_segments = true,
                                        .roundup_power2_divisions = {{1, 0}, {2, 8}}};
  recording.annotations = {
      {"step 1", true, 0, 17}, {"step 1", false, 0, 99}, {"data", true, 0, 99, 2}};
  RecordedDevice& device = recording.devices.front();
  device.index = 2;
  const StringId file = recording.tables.strings.intern("train.py");
  const FrameId frame =
      recording.tables.stacks.intern_frame({file, recording.tables.strings.intern("step"), -1});
  device.entries[0].stack = device.entries[1].stack =
      recording.tables.stacks.intern_stack(std::array{frame});
  device.segments[0].blocks[0].stack = device.entries[0].stack;
  const Recording back = through_pickle(recording);
  REQUIRE(back.devices.size() == 1);
  CHECK(back.devices[0].index == 2);
  CHECK(same(back.devices[0].entries, device.entries));
  CHECK(back.devices[0].stream_handles == device.stream_handles);
  REQUIRE(back.devices[0].segments.size() == 1);
  CHECK(back.devices[0].segments[0].pool == PoolId{0, 2});
  CHECK(back.devices[0].segments[0].blocks == device.segments[0].blocks);
  CHECK(back.settings == recording.settings);
  CHECK(back.annotations == recording.annotations);
  CHECK(back.writer == recording.writer);
  CHECK(back.tables.stacks.frame(FrameId{0U}).line == -1);
}

TEST_CASE("snapshot writer: the keys tell the release that the recording names",
          "[traces][snapshot]") {
  for (const WriterVersion& writer :
       {WriterVersion{"2.3", "2.4"}, WriterVersion{"2.5", "2.7"}, WriterVersion{"2.8", "2.8"},
        WriterVersion{"2.9", "2.9"}, WriterVersion{"2.10", "2.11"}, WriterVersion{"2.12", "2.12"},
        WriterVersion{"2.13", ""}}) {
    RecordingBuilder builder;
    builder.alloc(512, 512_B);
    Recording recording = builder.take();
    recording.writer = writer;
    recording.settings.emplace();
    CHECK(through_pickle(recording).writer == writer);
  }
}

TEST_CASE("snapshot writer: no device at all is a snapshot, too", "[traces][snapshot]") {
  CHECK(through_pickle(Recording{}).devices.empty());
}

TEST_CASE("snapshot writer: real recordings survive field by field", "[traces][snapshot][long]") {
  const std::filesystem::path folder = std::filesystem::path(HIGHWATER_SHARED_DATA) / "snapshots";
  if (!std::filesystem::exists(folder)) {
    WARN("skipped: shared data absent");
    return;
  }
  int compared = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() != ".xz") {
      continue;
    }
    CAPTURE(file.path().filename().string());
    const Recording original =
        read_torch_snapshot(*open_source(file.path()), {.stacks = StackMode::keep});
    Recording back = through_pickle(original);
    if (original.writer != back.writer) {  // blocks with a `history` are not written any more
      CHECK(original.writer == WriterVersion{"1.13", "2.0"});
      back.writer = original.writer;
    }
    CHECK(back.tables.stacks.stack_count() == original.tables.stacks.stack_count());
    renumber_stacks(back, original.tables);
    CHECK(std::ranges::equal(original.devices, back.devices,
                             [](const auto& a, const auto& b) { return same(a, b); }));
    CHECK(original.settings == back.settings);
    CHECK(original.annotations == back.annotations);
    CHECK(original.writer == back.writer);
    ++compared;
  }
  CHECK(compared == 14);
}
