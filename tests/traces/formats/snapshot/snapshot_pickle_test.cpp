// Rules: the pickle machine gives each data opcode its meaning, sharing and late updates included.
#include <catch2/catch.hpp>

#include "tests/support/snapshot_reading.hpp"

using namespace highwater;
using namespace highwater::test;
using namespace highwater::literals;

namespace {

std::string text(const std::string& word) {
  return std::string("\x8c") + static_cast<char>(word.size()) + word;
}

// {"device_traces": [[ENTRIES]]} where ENTRIES are opcodes that push entries.
Bytestring with_entry_opcodes(const std::string& entries, const std::string& before = "") {
  return raw("\x80\x04" + before + "}" + text("device_traces") + "](](" + entries + "ees.");
}

ChunkedVector<RecordedEntry> entries_of(const Bytestring& bytes) {
  return std::move(read_bytes(bytes).devices.at(0).entries);
}

const std::string kAction = text("action") + text("alloc");
const std::string kAddr = text("addr") + "K\x08";

std::string size(const std::string& number) {
  return text("size") + number;
}

}  // namespace

TEST_CASE("pickle: each form of integer is read", "[traces][snapshot]") {
  using namespace std::string_literals;
  const auto [opcodes, value] = GENERATE(table<std::string, std::uint64_t>({
      {"K\xff"s, 255},
      {"M\xff\xff"s, 65535},
      {"J\xff\xff\xff\x7f"s, 2147483647},
      {"\x8a\x00"s, 0},
      {"\x8a\x01\x7f"s, 127},
      {"\x8a\x05\x00\x00\x00\x80\x00"s, 2147483648},
      {"\x8a\x06\x00\x00\x00\x00\xf0\x00"s, 0xf000000000},
      {"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f"s, 0x7fffffffffffffff},
      {"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\x00"s, 0x7fffffffffffffff},
      {"\x8b\x02\x00\x00\x00\x00\x01"s, 256},
  }));
  CHECK(entries_of(with_entry_opcodes("}(" + kAction + kAddr + size(opcodes) + "u"))[0].size ==
        Bytes{value});
}

TEST_CASE("pickle: a dict filled one item at a time becomes the same entry", "[traces][snapshot]") {
  const std::string one_by_one =
      "}" + kAddr + "s" + size("K\x05") + "s" + kAction + "s" + text("stream") + "K\x03s";
  const auto entries = entries_of(with_entry_opcodes(one_by_one));
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].address == Address{8});
  CHECK(entries[0].size == 5_B);
}

TEST_CASE("pickle: an entry that changes after it was listed is listed changed",
          "[traces][snapshot]") {
  // Memo slot 0 is put in the list while empty, then filled in two steps from the outside.
  const std::string entry = "}\x94(" + kAction + kAddr + size("K\x05") + "u0";
  const std::string change = "h" + std::string(1, '\0') + size("K\x09") + "s0";
  const auto entries = entries_of(with_entry_opcodes("h" + std::string(1, '\0'), entry + change));
  CHECK(entries[0].size == 9_B);
}

TEST_CASE("pickle: an empty dict in a list is the dict that is filled later",
          "[traces][snapshot]") {
  const std::string zero(1, '\0');
  const std::string fill = "h" + zero + "(" + kAction + kAddr + size("K\x05") + "u0";
  const std::string early = "}\x94";  // pushed, memoized, and still empty when listed
  const auto entries =
      entries_of(raw("\x80\x04}" + text("device_traces") + "](](" + early + "ee" + fill + "s."));
  REQUIRE(entries.size() == 1);
  CHECK(entries[0].size == 5_B);
}

TEST_CASE("pickle: an entry named several times counts several times", "[traces][snapshot]") {
  const PyValue entry = sample_entry();
  const PyValue other = sample_entry().with("size", 7);
  const Recording recording =
      read_value(snapshot_of_entries({entry, other, entry, entry, other, sample_entry()}));
  const auto& entries = recording.devices.at(0).entries;
  REQUIRE(entries.size() == 6);
  CHECK(entries[2].size == 1000_B);
  CHECK(entries[3].size == 1000_B);
  CHECK(entries[4].size == 7_B);
  CHECK(recording.devices[0].action_counts[0] == 6);
}

TEST_CASE("pickle: a list that two devices share is read for both", "[traces][snapshot]") {
  const PyValue trace = PyValue::list({sample_entry(), sample_entry().with("stream", 5)});
  const Recording recording = read_value(PyValue::dict(
      {{"device_traces", PyValue::list({PyValue::list({sample_entry()}), trace, trace})}}));
  REQUIRE(recording.devices.size() == 3);
  CHECK(recording.devices[0].stream_handles == std::vector<std::uint64_t>{0});
  CHECK(recording.devices[1].entries.size() == 2);
  CHECK(recording.devices[2].entries[1].stream == 1);
}

TEST_CASE("pickle: lists longer than a batch keep their order", "[traces][snapshot]") {
  const Dialect dialect = GENERATE(Dialect::python, Dialect::cpp);
  const int count = GENERATE(999, 1000, 1001, 2001, 70000);
  PyValue::List list;
  for (int i = 0; i < count; ++i) {
    list.push_back(PyValue::dict({{"action", "alloc"}, {"addr", i}, {"size", 512}}));
  }
  const Recording recording = read_value(snapshot_of_entries(std::move(list)), dialect);
  const auto& entries = recording.devices.at(0).entries;
  REQUIRE(entries.size() == static_cast<std::size_t>(count));
  bool is_in_order = true;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    is_in_order = is_in_order && entries[i].address == Address{i};
  }
  CHECK(is_in_order);
}

TEST_CASE("pickle: the rarer opcodes read like the usual ones", "[traces][snapshot]") {
  using namespace std::string_literals;
  const std::string fields = kAction + kAddr + size("K\x05");
  const auto entry =
      GENERATE_COPY(as<std::string>{},
                    "(" + fields + "d",                   // DICT
                    "}2(" + fields + "u0",                // DUP, POP
                    "}(" + fields + "u(NN1",              // POP_MARK, NONE
                    "}(" + fields + "u(0",                // POP of a MARK
                    "}(" + fields + "uq\x05" + "0h\x05",  // BINPUT once filled, as C++ does
                    "}q\x05(" + fields + "u0h\x05",       // BINPUT
                    "}r\x07\0\0\0("s + fields + "u0j\x07\0\0\0"s);  // LONG_BINPUT
  CHECK(entries_of(with_entry_opcodes(entry))[0].size == 5_B);
  const std::string named = "}(\x8d\x06\0\0\0\0\0\0\0action"s + text("oom") + text("x") + "Nu";
  CHECK(entries_of(with_entry_opcodes(named))[0].action == RecordedAction::oom);
}

TEST_CASE("pickle: protocols 2 to 5 are read, and what follows STOP is left alone",
          "[traces][snapshot]") {
  const int protocol = GENERATE(2, 3, 4, 5);
  Bytestring bytes = write_pickle(sample_snapshot(), Dialect::python);
  bytes[1] = static_cast<std::byte>(protocol);
  bytes.push_back(std::byte{0xff});
  CHECK(looks_like_pickle(bytes));
  CHECK(read_bytes(bytes).devices.size() == 1);
}

TEST_CASE("pickle: only 0x80 and a protocol from 2 to 5 look like a pickle", "[traces][snapshot]") {
  CHECK_FALSE(looks_like_pickle({}));
  CHECK_FALSE(looks_like_pickle(raw({0x80})));
  CHECK_FALSE(looks_like_pickle(raw({0x80, 1})));
  CHECK_FALSE(looks_like_pickle(raw({0x80, 6})));
  CHECK_FALSE(looks_like_pickle(raw({'{', 4})));
  CHECK(looks_like_pickle(raw({0x80, 2})));
}
