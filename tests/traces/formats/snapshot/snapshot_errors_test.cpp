// Rules: what cannot be read is refused with its place, the reason and what to do.
#include <catch2/catch.hpp>

#include "tests/support/snapshot_reading.hpp"

using namespace highwater;
using namespace highwater::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

PyValue blocks_with(const PyValue& block) {
  return snapshot_of_segments({sample_segment().with("blocks", PyValue::list({block}))});
}

}  // namespace

TEST_CASE("snapshot: each kind of file that is no pickle is called by its name",
          "[traces][snapshot]") {
  using namespace std::string_literals;
  const auto [bytes, message] = GENERATE(table<std::string, std::string>({
      {"", "the file is empty"},
      {"{\"segments\": []}", "JSON"},
      {"\n  [1, 2]", "JSON"},
      {"PK\x03\x04\x14", "torch.save"},
      {"(dp0\nS'segments'\n", "protocol 0 or 1"},
      {"]q\x01.", "protocol 0 or 1"},
      {"\x80\x01}.", "protocol 0 or 1"},
      {"version https://git-lfs.github.com/spec/v1\n", "Git LFS"},
      {"<!DOCTYPE html>", "HTML"},
      {"BZh91AY&SY", "bzip2"},
      {"hello", "not a pickle"},
      {"\x80\x09}.", "protocol 9 is newer"},
      {"\x80", "truncated"},
  }));
  const std::string text = refusal(raw(bytes));
  CHECK_THAT(text, StartsWith("byte "));
  CHECK_THAT(text, Contains(message));
  CHECK_THAT(text, Contains("test.pickle: byte "));
}

TEST_CASE("snapshot: code, foreign objects and byte strings in a pickle are refused unread",
          "[traces][snapshot]") {
  const auto [opcodes, message] = GENERATE(table<std::string, std::string>({
      {"cos\nsystem\n", "never executes"},
      {"\x93", "never executes"},
      {"(ios\nsystem\n", "never executes"},
      {"NR", "run code"},
      {"Nb", "run code"},
      {"N\x81", "run code"},
      {"N\x92", "run code"},
      {"(o", "never executes"},
      {"NQ", "never executes"},
      {"P1\n", "never executes"},
      {"\x82\x01", "never executes"},
      {"B\x01", "byte strings"},
      {"C\x01 ", "byte strings"},
      {"U\x01 ", "byte strings"},
      {"\x96", "byte strings"},
      {"\x8f", "sets"},
      {"I1\n", "protocol 0 or 1"},
      {"\xff", "unknown pickle opcode"},
  }));
  CAPTURE(opcodes);
  CHECK_THAT(refusal(raw("\x80\x04" + opcodes)), Contains(message));
}

TEST_CASE("snapshot: an error names the byte and the path of the field", "[traces][snapshot]") {
  const Dialect dialect = GENERATE(Dialect::python, Dialect::cpp);
  PyValue::List entries(17, sample_entry());
  for (PyValue& entry : entries) {
    entry = sample_entry().with("size", 512);
  }
  const auto where = [&](const PyValue& value) {
    return error_of(write_pickle(value, dialect))->where();
  };
  entries.push_back(sample_entry().with("addr", "here"));
  CHECK_THAT(where(snapshot_of_entries(entries)), Contains(", device_traces[0][17].addr"));
  CHECK_THAT(where(snapshot_of_entries({sample_entry().with("size", -1)})),
             Contains(", device_traces[0][0].size"));
  CHECK_THAT(where(blocks_with(sample_block().with("state", 3))),
             Contains(", segments[0].blocks[0].state"));
  CHECK_THAT(where(snapshot_of_segments({sample_segment(), sample_segment().with("stream", "a")})),
             Contains(", segments[1].stream"));
  const PyValue frames = PyValue::list({sample_frame(), sample_frame().with("line", "12")});
  CHECK_THAT(where(snapshot_of_segments({sample_segment().with("frames", frames)})),
             Contains(", segments[0].frames[1].line"));
}

TEST_CASE("snapshot: the path counts the batches that went before", "[traces][snapshot]") {
  PyValue::List entries;
  for (int i = 0; i < 2500; ++i) {
    entries.push_back(sample_entry().with("size", i));
  }
  entries.push_back(sample_entry().with("stream", PyValue::list({})));
  CHECK_THAT(refusal(snapshot_of_entries(entries)), Contains("device_traces[0][2500].stream"));
}

TEST_CASE("snapshot: sizes and addresses that cannot be are refused", "[traces][snapshot]") {
  const auto value = GENERATE(PyValue(-1), PyValue(std::uint64_t{1} << 63), PyValue(2.5),
                              PyValue(true), PyValue("12"), PyValue());
  CHECK_THAT(refusal(snapshot_of_entries({sample_entry().with("size", value)})),
             Contains("expected a number from 0 to 2^63-1"));
  CHECK_THAT(refusal(snapshot_of_entries({sample_entry().with("addr", value)})),
             Contains("expected a number from 0 to 2^63-1"));
}

TEST_CASE("snapshot: blocks that do not cover their segment are refused by path",
          "[traces][snapshot]") {
  CHECK_THAT(refusal(blocks_with(sample_block())), StartsWith("segments[0].total_size |"));
  CHECK_THAT(refusal(blocks_with(sample_block().with("size", 4194304))),
             StartsWith("segments[0].blocks[0].size |"));
  CHECK_THAT(refusal(blocks_with(sample_block().with("size", 0))),
             StartsWith("segments[0].blocks[0].size |"));
  CHECK_THAT(refusal(blocks_with(sample_block().with("address", 512))),
             StartsWith("segments[0].blocks[0].address |"));
  CHECK_THAT(refusal(snapshot_of_segments({sample_segment().without("blocks")})),
             StartsWith("segments[0].total_size |"));
}

TEST_CASE("snapshot: fields that cannot be missing are asked for", "[traces][snapshot]") {
  CHECK_THAT(refusal(snapshot_of_entries({sample_entry(), sample_entry().without("addr")})),
             StartsWith("device_traces[0][1] |") && Contains("lacks \"addr\""));
  const auto key = GENERATE(as<std::string>{}, "device", "address", "total_size", "segment_type");
  CHECK_THAT(refusal(snapshot_of_segments({sample_segment().without(key)})),
             StartsWith("segments[0] |") && Contains("missing \"" + key + "\""));
}

TEST_CASE("snapshot: a pickle of something else is refused", "[traces][snapshot]") {
  CHECK_THAT(refusal(PyValue("text")), Contains("holds a string"));
  CHECK_THAT(refusal(PyValue::dict({})), Contains("lacks both \"segments\""));
  CHECK_THAT(refusal(PyValue::dict({{"model", 1}})), Contains("lacks both \"segments\""));
  CHECK_THAT(refusal(PyValue::list({1, 2})), Contains("expected a segment, found the number 1"));
  CHECK_THAT(refusal(PyValue::dict({{"segments", 1}})), Contains("expected a list"));
  CHECK_THAT(refusal(PyValue::list({PyValue::dict({{"x", 1}})})),
             Contains("expected a segment, found a dict with other keys"));
  CHECK_THAT(refusal(PyValue::dict({{"device_traces", PyValue::list({sample_entry()})}})),
             Contains("device_traces[0]"));
}

TEST_CASE("snapshot: a truncated file says where it ends", "[traces][snapshot]") {
  Bytestring bytes = write_pickle(sample_snapshot(), Dialect::python);
  bytes.resize(bytes.size() - 30);
  const std::string text = refusal(bytes);
  CHECK_THAT(text, StartsWith("byte " + std::to_string(bytes.size()) + ", "));
  CHECK_THAT(text, Contains("truncated"));
}

TEST_CASE("snapshot: more streams or pools than a record can number are refused",
          "[traces][snapshot]") {
  PyValue::List pools;
  for (int i = 1; i <= 256; ++i) {
    pools.push_back(sample_entry().with("pool_id", PyValue::tuple({0, i})));
  }
  CHECK_THAT(refusal(snapshot_of_entries(pools)), Contains("more than the supported 255 memory "
                                                           "pools"));
  pools.pop_back();
  CHECK(read_value(snapshot_of_entries(pools)).devices.at(0).pools.size() == 256);

  PyValue::List streams;
  for (int i = 0; i < 65536; ++i) {
    streams.push_back(
        PyValue::dict({{"action", "alloc"}, {"addr", 0}, {"size", 1}, {"stream", i}}));
  }
  CHECK_THAT(refusal(snapshot_of_entries(streams)), Contains("more than the supported 65535 "
                                                             "streams"));
}
