// Rules: a pickle that would take more memory than its bytes can mean is refused early, with the
// place, and what real writers write is not.
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/snapshot_reading.hpp"

using namespace highwater;
using namespace highwater::test;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

std::string spelled(const std::string& word) {
  return std::string("\x8c") + static_cast<char>(word.size()) + word;
}

const std::string kStart = "\x80\x04}(";
const std::string kEntries = kStart + spelled("device_traces") + "](](";
const std::string kSegments = kStart + spelled("segments") + "](";
const std::string kNumber = "K\x01";

std::string repeated(const std::string& opcodes, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) {
    all += opcodes;
  }
  return all;
}

}  // namespace

// None of these ends: what came first is refused before more is read.
TEST_CASE("limits: the first item that its list cannot hold is refused when it comes",
          "[traces][snapshot]") {
  const auto [start, wrong, place, problem] =
      GENERATE(table<std::string, std::string, std::string, std::string>({
          {kSegments, kNumber, "segments[0]", "expected a segment, found the number 1"},
          {kSegments, "]", "segments[0]", "expected a segment, found a list"},
          {kSegments, "N", "segments[0]", "expected a segment, found None"},
          {kSegments + "}(" + spelled("blocks") + "](", kNumber, "segments[0].blocks[0]",
           "expected a block, found the number 1"},
          {kStart + spelled("device_traces") + "](", kNumber, "device_traces[0]",
           "expected a list of trace entries, found the number 1"},
          {kEntries, kNumber, "device_traces[0][0]", "expected a trace entry, found the number 1"},
          {kEntries + "}(" + spelled("frames") + "](", kNumber, "device_traces[0][0].frames[0]",
           "expected a stack frame, found the number 1"},
      }));
  CAPTURE(place, problem);
  const std::string message = refusal(raw(start + repeated(wrong, 5)));
  CHECK_THAT(message, StartsWith("byte " + std::to_string(start.size()) + ", " + place));
  CHECK_THAT(message, Contains(problem));
}

TEST_CASE("limits: an item that comes alone is refused alike", "[traces][snapshot]") {
  const std::string start = kStart + spelled("segments") + "]";
  CHECK_THAT(refusal(raw(start + kNumber + "a")),
             Contains("segments[0]") && Contains("expected a segment, found the number 1"));
}

TEST_CASE("limits: lists that nobody reads hold anything", "[traces][snapshot]") {
  const PyValue numbers = PyValue::list({1, 2, 3});
  const PyValue lookalike = PyValue::list({"segments", numbers});
  const PyValue notes = PyValue::dict({{"blocks", numbers}, {"frames", numbers}});
  const PyValue entry = sample_entry().with("user_metadata", notes);
  for (const Dialect dialect : {Dialect::python, Dialect::cpp}) {
    CHECK_THAT(refusal(snapshot_of_entries({entry}), dialect), Catch::Equals(""));
    CHECK_THAT(refusal(sample_snapshot().with("notes", lookalike), dialect), Catch::Equals(""));
  }
}

TEST_CASE("limits: items that nothing takes are refused while they come", "[traces][snapshot]") {
  const std::size_t size = 20000000;
  const std::string message = refusal(raw("\x80\x04(" + std::string(size, 'N')));
  CHECK_THAT(message, Contains("takes more memory than any real snapshot of its size"));
  CHECK(std::stoul(message.substr(std::string("byte ").size())) < size);
}

TEST_CASE("limits: a memo, containers and strings that nothing needs are refused",
          "[traces][snapshot]") {
  const auto [opcodes, times] = GENERATE(table<std::string, std::size_t>({
      {"\x94", 20000000},
      {"](" + kNumber + "e0", 4000000},
      {"}" + kNumber + "Ns0", 2500000},
      {"N\x85" + std::string("0"), 3000000},
  }));
  CAPTURE(opcodes);
  CHECK_THAT(refusal(raw("\x80\x04(N" + repeated(opcodes, times) + ".")),
             Contains("takes more memory"));
}

TEST_CASE("limits: memo slots that skip many are refused before they take memory",
          "[traces][snapshot]") {
  const std::string nothing = "\x80\x04(" + repeated("N0", 1500000);
  const std::string slot_3000000{"Nr\xc0\xc6\x2d\x00.", 7};
  CHECK_THAT(refusal(raw(nothing + slot_3000000)),
             Contains("memo slot 3000000 skips slots that no writer skips"));
  const std::string few{"Nr\xff\xff\x0f\x00.", 7};
  CHECK_THAT(refusal(raw("\x80\x04" + few)), Contains("this file holds None"));
}

// Tables double when they are full; here that happens in the last bytes.
TEST_CASE("limits: what the end of a pickle takes counts, too", "[traces][snapshot]") {
  const std::size_t lists = (std::size_t{1} << 21U) + 1;
  CHECK_THAT(refusal(raw("\x80\x04" + repeated("](" + kNumber + "e0", lists) + "N.")),
             Contains("takes more memory"));
}

TEST_CASE("limits: more entries than the bytes can describe are refused", "[traces][snapshot]") {
  const std::string entry = "}(" + spelled("action") + spelled("snapshot") + "u";
  const std::string shared =
      "](" + entry + "\x94" + repeated("h" + std::string(1, '\0'), 1200000) + "e";
  CHECK_THAT(refusal(raw(kStart + spelled("device_traces") + "](" + shared + "eu.")),
             Contains("more records than its bytes can describe"));
}

// The lists take 50 MB as rows, the annotations as much again in the recording: together too much.
TEST_CASE("limits: rows and the recording made of them share one bound", "[traces][snapshot]") {
  const std::string entry = "}(" + spelled("name") + spelled(std::string(200, 'n')) + "u\x94";
  const std::string start = kStart + spelled("segments") + "]" + spelled("external_annotations");
  const std::string ballast = repeated("](" + kNumber + "e0", 900000);
  const auto annotations = [&](std::size_t n) {
    return start + "](" + entry + repeated("h" + std::string(1, '\0'), n) + "eu.";
  };
  CHECK_THAT(refusal(raw(annotations(200000))), Catch::Equals(""));
  CHECK_THAT(refusal(raw(start + ballast + annotations(200000).substr(start.size()))),
             Contains("more records than its bytes can describe"));
}
