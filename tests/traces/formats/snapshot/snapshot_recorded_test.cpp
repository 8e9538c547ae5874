// Rules: real recordings of public projects read as their manifest says.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/snapshot_reading.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

const std::filesystem::path kFolder = std::filesystem::path(HIGHWATER_SHARED_DATA) / "snapshots";

boost::json::array manifest() {
  std::ifstream file(kFolder / "MANIFEST.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return boost::json::parse(text).at("files").as_array();
}

std::uint64_t number(const boost::json::value& object, const std::string& key) {
  return object.at(key).to_number<std::uint64_t>();
}

Recording read_file(const boost::json::value& file, StackMode stacks) {
  const auto source = open_source(kFolder / file.at("file").as_string().c_str());
  return read_torch_snapshot(*source, {stacks});
}

std::map<std::string, std::uint64_t> actions_of(const RecordedDevice& device) {
  std::map<std::string, std::uint64_t> counts = device.unknown_actions;
  for (std::size_t i = 0; i + 1 < kRecordedActionCount; ++i) {
    if (device.action_counts.at(i) > 0) {
      counts[std::string(to_string(static_cast<RecordedAction>(i)))] = device.action_counts.at(i);
    }
  }
  return counts;
}

std::uint64_t bytes_in_use(const RecordedDevice& device, Bytes RecordedBlock::*size) {
  Bytes sum;
  for (const RecordedSegment& segment : device.segments) {
    for (const RecordedBlock& block : segment.blocks) {
      sum += block.state == BlockState::inactive ? Bytes{} : block.*size;
    }
  }
  return sum.count();
}

std::size_t streams_of_entries(const RecordedDevice& device) {
  std::set<std::uint16_t> streams;
  for (const RecordedEntry& entry : device.entries) {
    streams.insert(entry.stream);
  }
  return streams.size();
}

void check_device(const RecordedDevice& device, const boost::json::value& expected) {
  CHECK(device.entries.size() == number(expected, "events"));
  CHECK(device.segments.size() == number(expected, "segments"));
  CHECK(streams_of_entries(device) == number(expected, "streams"));
  CHECK(bytes_in_use(device, &RecordedBlock::size) == number(expected, "final_active_bytes"));
  CHECK(bytes_in_use(device, &RecordedBlock::requested) ==
        number(expected, "final_requested_bytes"));
  std::map<std::string, std::uint64_t> actions;
  for (const auto& action : expected.at("actions").as_object()) {
    actions[std::string(action.key())] = action.value().to_number<std::uint64_t>();
  }
  CHECK(actions_of(device) == actions);
}

}  // namespace

TEST_CASE("recorded: every real snapshot reads as its manifest says", "[traces][snapshot]") {
  if (!std::filesystem::exists(kFolder)) {
    WARN("skipped: shared data absent");
    return;
  }
  for (const boost::json::value& file : manifest()) {
    CAPTURE(file.at("file").as_string().c_str());
    const Recording recording = read_file(file, StackMode::skip);
    const boost::json::array& devices = file.at("devices").as_array();
    REQUIRE(recording.devices.size() == devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i) {
      CHECK(recording.devices[i].index == devices[i].at("device").to_number<int>());
      check_device(recording.devices[i], devices[i]);
    }
    CHECK(recording.annotations.size() == number(file, "external_annotations"));
    CHECK(recording.unknown_keys.empty());
    CHECK_FALSE(recording.writer.oldest.empty());
  }
}

TEST_CASE("recorded: stacks change nothing but the stacks", "[traces][snapshot]") {
  if (!std::filesystem::exists(kFolder)) {
    WARN("skipped: shared data absent");
    return;
  }
  for (const boost::json::value& file : manifest()) {
    CAPTURE(file.at("file").as_string().c_str());
    const Recording with = read_file(file, StackMode::keep);
    const Recording without = read_file(file, StackMode::skip);
    REQUIRE(with.devices.size() == without.devices.size());
    for (std::size_t d = 0; d < with.devices.size(); ++d) {
      const auto& entries = with.devices[d].entries;
      REQUIRE(entries.size() == without.devices[d].entries.size());
      bool is_equal = true;
      for (std::size_t i = 0; i < entries.size(); ++i) {
        RecordedEntry entry = entries[i];
        const bool is_known =
            !entry.stack.has_value() || entry.stack.index() < with.tables.stacks.stack_count();
        entry.stack = StackId::none();
        is_equal = is_equal && is_known && entry == without.devices[d].entries[i];
      }
      CHECK(is_equal);
    }
  }
}
