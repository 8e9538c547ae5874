// Rules: call stacks are kept only on request, each distinct one once.
#include <catch2/catch.hpp>

#include "tests/support/snapshot_reading.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

PyValue frame(int line) {
  return PyValue::dict({{"filename", "model.py"}, {"line", line}, {"name", "forward"}});
}

PyValue entry_with(PyValue frames) {
  return sample_entry().with("frames", std::move(frames));
}

}  // namespace

TEST_CASE("snapshot: skipped stacks leave the side tables empty", "[traces][snapshot]") {
  const Recording recording = read_value(sample_snapshot());
  CHECK(recording.tables.stacks.stack_count() == 0);
  CHECK(recording.tables.strings.size() == 0);
  CHECK(recording.devices.at(0).entries[0].stack == StackId::none());
}

TEST_CASE("snapshot: equal stacks get one id, shared by identity or by content",
          "[traces][snapshot]") {
  const Dialect dialect = GENERATE(Dialect::python, Dialect::cpp);
  const PyValue shared = PyValue::list({frame(1), frame(2)});
  const Recording recording = read_value(
      snapshot_of_entries(
          {entry_with(shared), entry_with(shared), entry_with(PyValue::list({frame(1), frame(2)})),
           entry_with(PyValue::list({frame(2), frame(1)})), entry_with(PyValue::list({}))}),
      dialect, StackMode::keep);
  const auto& entries = recording.devices.at(0).entries;
  CHECK(entries[0].stack.has_value());
  CHECK(entries[1].stack == entries[0].stack);
  CHECK(entries[2].stack == entries[0].stack);
  CHECK(entries[3].stack != entries[0].stack);
  CHECK(entries[4].stack == StackId::none());

  const SideTables& tables = recording.tables;
  const auto frames = tables.stacks.stack(entries[0].stack);
  REQUIRE(frames.size() == 2);
  CHECK(tables.stacks.frame(frames[0]).line == 1);
  CHECK(tables.strings[tables.stacks.frame(frames[0]).file] == "model.py");
  CHECK(tables.strings[tables.stacks.frame(frames[0]).function] == "forward");
}

TEST_CASE("snapshot: a stack longer than a batch is one stack", "[traces][snapshot]") {
  PyValue::List frames(2500, frame(3));
  frames.back() = frame(4);
  const Recording recording = read_value(snapshot_of_entries({entry_with(PyValue::list(frames))}),
                                         Dialect::python, StackMode::keep);
  const auto stack = recording.tables.stacks.stack(recording.devices.at(0).entries[0].stack);
  REQUIRE(stack.size() == 2500);
  CHECK(recording.tables.stacks.frame(stack[2499]).line == 4);
}

TEST_CASE("snapshot: an entry's 9-byte unsigned line number is dropped", "[traces][snapshot]") {
  const PyValue unknown = frame(0).with("line", ~std::uint64_t{0});
  const Dialect dialect = GENERATE(Dialect::python, Dialect::cpp);
  const Recording recording = read_value(
      snapshot_of_entries({entry_with(PyValue::list({unknown}))}), dialect, StackMode::keep);
  const auto stack = recording.tables.stacks.stack(recording.devices.at(0).entries[0].stack);
  CHECK(recording.tables.stacks.frame(stack[0]).line == -1);
}

TEST_CASE("snapshot: segments and blocks name their stacks", "[traces][snapshot]") {
  const PyValue segment = sample_segment().with("frames", PyValue::list({frame(9)}));
  const Recording recording =
      read_value(snapshot_of_segments({segment}), Dialect::python, StackMode::keep);
  const RecordedSegment& read = recording.devices.at(0).segments.at(0);
  CHECK(recording.tables.stacks.stack(read.stack).size() == 1);
  CHECK(read.blocks.at(0).stack.has_value());
  CHECK(read.blocks.at(1).stack == StackId::none());
}
