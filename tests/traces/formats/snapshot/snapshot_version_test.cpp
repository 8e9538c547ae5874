// Rules: the keys of a snapshot tell which PyTorch releases can have written it.
#include <catch2/catch.hpp>

#include "tests/support/snapshot_reading.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

PyValue with_settings(const PyValue& snapshot) {
  return snapshot.with("allocator_settings", sample_settings());
}

PyValue with_annotations(const PyValue& snapshot) {
  return with_settings(snapshot).with("external_annotations", PyValue::list({}));
}

PyValue with_nine_settings(const PyValue& snapshot) {
  return with_annotations(snapshot).with(
      "allocator_settings", sample_settings().with("graph_capture_record_stream_reuse", false));
}

PyValue old_segment() {
  const PyValue block = PyValue::dict({{"size", 2097152}, {"state", "inactive"}});
  return sample_segment().without("is_expandable").with("blocks", PyValue::list({block}));
}

}  // namespace

TEST_CASE("snapshot: the keys of entries, settings and blocks date the writer",
          "[traces][snapshot]") {
  const PyValue entry = sample_entry();
  const PyValue compiled = entry.with("compile_context", "N/A");
  const PyValue tagged = compiled.with("user_metadata", "");
  const PyValue nothing = snapshot_of_entries({});
  const auto [snapshot, version] = GENERATE_COPY(table<PyValue, WriterVersion>({
      {snapshot_of_entries({entry.without("time_us")}), {"1.13", "2.1"}},
      {snapshot_of_entries({entry.without("time_us")})
           .with("segments", PyValue::list({sample_segment()})),
       {"2.1", "2.1"}},
      {snapshot_of_entries({entry}), {"2.2", "2.2"}},
      {with_settings(snapshot_of_entries({entry})), {"2.3", "2.4"}},
      {with_annotations(snapshot_of_entries({entry})), {"2.5", "2.7"}},
      {with_annotations(snapshot_of_entries({compiled})), {"2.8", "2.8"}},
      {with_nine_settings(snapshot_of_entries({compiled})), {"2.9", "2.9"}},
      {with_nine_settings(snapshot_of_entries({tagged})), {"2.10", "2.11"}},
      {with_nine_settings(snapshot_of_entries({tagged.with("pool_id", PyValue::tuple({0, 1}))})),
       {"2.12", "2.12"}},
      {snapshot_of_entries({tagged.with("pool_id", PyValue::tuple({0, 1}))}), {"2.12", ""}},
      // No entries: what only entries show is unknown.
      {nothing, {"1.13", "2.2"}},
      {with_settings(nothing), {"2.3", "2.4"}},
      {with_annotations(nothing), {"2.5", "2.8"}},
      {with_nine_settings(nothing), {"2.9", ""}},
      {snapshot_of_segments({sample_segment()}), {"2.1", "2.2"}},
      {snapshot_of_segments({old_segment()}), {"1.13", "2.0"}},
      {PyValue::list({sample_segment()}), {"2.1", ""}},
  }));
  const WriterVersion found = read_value(snapshot).writer;
  CAPTURE(found.oldest, found.newest, version.oldest, version.newest);
  CHECK(found == version);
}

TEST_CASE("snapshot: the recorder's own word about the release counts more than the keys",
          "[traces][snapshot]") {
  const PyValue recorded =
      snapshot_of_entries({sample_entry()}).with("highwater", PyValue::dict({{"gpu", "h100-80"}}));
  const auto [text, version] = GENERATE_COPY(table<std::string, WriterVersion>({
      {"2.15.0+cu132", {"2.15", "2.15"}},
      {"2.6.0", {"2.6", "2.6"}},
      {"2.7", {"2.7", "2.7"}},
      {"of my own", {"2.2", "2.2"}},
  }));
  const Recording recording = read_value(recorded.with("torch_version", text));
  CAPTURE(text, recording.writer.oldest, recording.writer.newest);
  CHECK(recording.writer == version);
  CHECK(recording.unknown_keys.empty());
}
