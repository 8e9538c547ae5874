// Edits against the truth: the replay of an edited run, beside a recording of the program in which
// the same edit was made. tests/data/edits/training.py is the program with its edits; real PyTorch
// carried it out on the fake device (traces/recorded/README.md).
//
// Compared is the whole history, entry by entry: action, size, stream (in order of first
// appearance), and address. Both devices hand out addresses that only grow, in units of 2 MiB, so
// addresses are compared as distances from the first segment.
#include <algorithm>
#include <map>
#include <tuple>

#include <catch2/catch.hpp>

#include "tools/edits/edit_words.hpp"
#include "tools/studies/runs/observed_run.hpp"
#include "tools/studies/runs/workload_request.hpp"

using namespace highwater;

namespace {

const std::string kEdits = HIGHWATER_SOURCE "/traces/recorded/edits/";

using ComparedEntry = std::tuple<RecordedAction, std::uint64_t, std::uint64_t, std::size_t>;

std::vector<ComparedEntry> history_of(const Recording& recording) {
  REQUIRE(recording.devices.size() == 1);
  const RecordedDevice& device = recording.devices.front();
  std::optional<Address> first;
  std::map<std::uint16_t, std::size_t> streams;
  std::vector<ComparedEntry> entries;
  for (const RecordedEntry& entry : device.entries) {
    if (entry.action == RecordedAction::snapshot) {
      continue;
    }
    first = first ? first : std::optional(entry.address);
    const std::size_t stream = streams.emplace(entry.stream, streams.size()).first->second;
    const std::uint64_t place = entry.action == RecordedAction::oom
                                    ? entry.device_free().count()
                                    : entry.address.value() - first->value();
    entries.emplace_back(entry.action, place, entry.size.count(), stream);
  }
  return entries;
}

std::vector<ComparedEntry> replayed(const std::string& file, const std::vector<std::string>& edits,
                                    std::optional<Bytes> capacity = std::nullopt) {
  WorkloadRequest request;
  request.memory.capacity = capacity;
  request.file = kEdits + file;
  request.reading.progress = ReadingProgress::hidden;
  for (const std::string& edit : edits) {
    request.edits.push_back(read_edit(edit));
  }
  return history_of(record_runs(observe_runs(request)));
}

std::vector<ComparedEntry> recorded(const std::string& file) {
  const TraceFile content =
      read_trace_file(kEdits + file, StackMode::skip, {.progress = ReadingProgress::hidden});
  return history_of(std::get<Recording>(content));
}

/// Where the two differ, else their size.
std::size_t first_difference(const std::vector<ComparedEntry>& a,
                             const std::vector<ComparedEntry>& b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in2 - b.begin());
}

struct EditCase {
  const char* edit;
  const char* recording;  ///< of the program with that edit
};

/// Names of files are PROGRAM EDIT RELEASE.
void check(const std::string& program, const std::string& release,
           const std::vector<EditCase>& cases) {
  for (const EditCase& each : cases) {
    INFO(each.edit << " beside " << program << each.recording << release);
    const auto edited = replayed(program + "none" + release, {each.edit});
    const auto truth = recorded(program + each.recording + release);
    REQUIRE(edited.size() == truth.size());
    CHECK(first_difference(edited, truth) == truth.size());
  }
}

}  // namespace

TEST_CASE("edits: every address is that of the edited program, PyTorch 2.15", "[edits][truth]") {
  const std::string then = "then:" + kEdits + "second-torch2.15.hwt.xz";
  check("", "-torch2.15.hwt.xz",
        {
            {"preallocate:200MiB", "preallocate"},
            {"empty_cache:step", "empty-cache"},
            {"empty_cache:every=3", "empty-cache-every"},
            {"drop_record_stream:site=batch", "drop-record-stream"},
            {"free_earlier:site=scratch,by=6", "free-earlier"},
            {"free_earlier:site=mask,by=7", "free-waiting-earlier"},
            {"move:site=scratch,stream=65536", "move-stream"},
            {"move:site=scratch,pool=1", "move-pool"},
            {"scale:site=scratch,by=0.5", "scale"},
            {"drop_step:3", "drop-step"},
            {"repeat_step:3,times=3", "repeat-step"},
            {then.c_str(), "then"},
        });
}

TEST_CASE("edits: the same with events that lag behind", "[edits][truth]") {
  check("", "-lag12-torch2.15.hwt.xz",
        {
            {"drop_record_stream:site=batch", "drop-record-stream"},
            {"repeat_step:3,times=3", "repeat-step"},
        });
}

TEST_CASE("edits: every address is that of the edited program, PyTorch 2.6", "[edits][truth]") {
  check("", "-torch2.6.hwt.xz",
        {
            {"empty_cache:step", "empty-cache"},
            {"drop_record_stream:site=batch", "drop-record-stream"},
            {"move:site=scratch,pool=1", "move-pool"},
        });
}

TEST_CASE("edits: 93 GiB become 77 as in the program that preallocates or empties its cache",
          "[edits][truth]") {
  check("stashing-", "-torch2.15.hwt.xz",
        {{"preallocate:77GiB", "preallocate"}, {"empty_cache:step", "empty-cache"}});
}

// Captures of CUDA graphs, with what prepares them, beside a cache.
TEST_CASE("edits: captures in other pools, streams and orders are those of the program made so",
          "[edits][truth]") {
  check("captures-", "-torch2.15.hwt.xz",
        {
            {"captures:pools=own", "none"},
            {"captures:pools=one", "one-pool"},
            {"captures:pools=one,streams=own", "own-streams"},
            {"captures:pools=one,order=2+4+1+3", "order"},
            {"captures:order=4+3+2+1", "order-own"},
            {"captures:pools=1+2/3+4", "two-pools"},
            {"captures:pools=one,order=1+2+2+3+4", "twice"},
        });
}

namespace {

/// `capacity`: what the first process's context left of the device; that of the other: `context`.
void check_beside(const std::string& kind, const std::string& context, Bytes capacity) {
  for (const auto& [one, other] : {std::pair{"first", "second"}, std::pair{"second", "first"}}) {
    const std::string file = kind + one + "-torch2.15.hwt.xz";
    const std::string beside = "beside:" + kEdits + kind + other + "-torch2.15.hwt.xz," + context;
    INFO(file);
    const auto truth = recorded(file);
    CHECK(first_difference(replayed(file, {beside}, capacity), truth) == truth.size());
    const auto by_share = replayed(file, {beside + ",order=share"}, capacity);
    CHECK(first_difference(by_share, truth) < truth.size());
    const auto alone = replayed(file, {"empty_cache:every=100000"}, capacity);
    CHECK(first_difference(alone, truth) < truth.size());
  }
}

}  // namespace

// What either process found free is what the other left it, so both release their caches and fail
// where they did: 440 MiB, of which each context took 20.
TEST_CASE("edits: two processes on one device fail and retry as recorded", "[edits][truth]") {
  check_beside("beside-", "context=20MiB", Bytes{420 << 20});
}

// The size of reservations follows from the whole memory of the device, so no context is left out.
TEST_CASE("edits: two processes with expandable segments on one device", "[edits][truth]") {
  check_beside("beside-expandable-", "context=0", Bytes{400 << 20});
}

TEST_CASE("edits: an edit that is not made shows", "[edits][truth]") {
  CHECK(replayed("none-torch2.15.hwt.xz", {"free_earlier:site=scratch,by=5"}) !=
        recorded("free-earlier-torch2.15.hwt.xz"));
  CHECK(replayed("none-torch2.15.hwt.xz", {"repeat_step:3,times=2"}) !=
        recorded("repeat-step-torch2.15.hwt.xz"));
}
