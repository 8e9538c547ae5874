// Any words after --edit change a run or are refused with a UsageError that says what is wrong; a
// changed run is one that can be replayed.
//
// Each line of the input is one edit, made to a run of two steps on two streams.
#include "allocator/settings/version.hpp"
#include "sim/edits/edit.hpp"
#include "sim/replay/replay.hpp"
#include "tests/fuzz/fuzz_input.hpp"
#include "tools/edits/edit_of_words.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_source.hpp"
#include "traces/formats/text/text_trace.hpp"

namespace {

using namespace highwater;

/// Edits that repeat a step grow the run: what one may do to a small run is not what is looked for.
constexpr std::size_t kMostEvents = 100'000;
constexpr std::size_t kMostEdits = 8;

RequestTrace small_run() {
  constexpr std::string_view kText =
      "frame 1 12 train.py\tstep\n"
      "stack 1 1\n"
      "step 0\n"
      "a 1 1048576 0 @1\n"
      "a 2 20971520 7 @1\n"
      "r 1 7\n"
      "f 1\n"
      "step 1\n"
      "pool_begin 1\n"
      "a 3 3145728 0 gradient @1\n"
      "pool_end 1\n"
      "f 2\n"
      "f 3\n";
  return read_text_trace(*memory_source(std::as_bytes(std::span(kText)), "run"));
}

OtherRun other_run(const std::string& /*file*/) {
  return {.trace = std::make_shared<RequestTrace>(small_run()),
          .settings = {},
          .version = &version_presets().back(),
          .times = {},
          .context = {}};
}

void edit(EditedRun& run, const std::string& line) {
  for (const std::string& each : split_edits(line)) {
    if (each != kNoEdit) {
      apply_edit(edit_of(read_edit(each), run.trace, other_run), run);
    }
  }
}

}  // namespace

// The name and the types are libFuzzer's.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  EditedRun run{small_run()};
  std::size_t edits = 0;
  try {
    for (const std::string& line : fuzz::lines_of(fuzz::text_of(data, size))) {
      if (++edits <= kMostEdits && run.trace.events.size() <= kMostEvents) {
        edit(run, line);
      }
    }
  } catch (const UsageError&) {
    return 0;
  }
  if (run.trace.events.size() <= kMostEvents) {
    replay(run.trace, {.version = &version_presets().back()});
  }
  return 0;
}
