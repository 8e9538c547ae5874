#include "tools/edits/edit_words.hpp"

#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "traces/error.hpp"

using namespace highwater;

namespace {

std::string refusal_of(const std::string& edit) {
  try {
    read_edit(edit);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

const std::string kRun = HIGHWATER_SOURCE "/traces/recorded/edits/none-torch2.15.hwt.xz";

CommandRun replay_with(const std::string& edit) {
  return run({"replay", kRun, "--edit", edit});
}

}  // namespace

TEST_CASE("edit words: a name, a value, keys", "[edits]") {
  const EditWords earlier = read_edit("free_earlier:site=train.py:4 step,by=100");
  CHECK(earlier.kind->name == "free_earlier");
  CHECK(*earlier.find("site") == "train.py:4 step");
  CHECK(*earlier.find("by") == "100");
  CHECK(*read_edit("preallocate:20GiB").find("size") == "20GiB");
  CHECK(*read_edit("preallocate:size=20GiB,stream=7").find("stream") == "7");
  CHECK(read_edit("drop_record_stream").values.empty());
  CHECK(*read_edit("scale:site=f<int, long>,by=2").find("site") == "f<int, long>");
}

TEST_CASE("edit words: a mistake is named with its place", "[edits]") {
  CHECK(refusal_of("empty_cach:step") ==
        "edit 'empty_cach:step': character 1: unknown edit; did you mean empty_cache?");
  CHECK(refusal_of("scale:site=a,bt=2") ==
        "edit 'scale:site=a,bt=2': character 14: scale has no 'bt'; did you mean by?");
  CHECK(refusal_of("preallocate:lots") ==
        "edit 'preallocate:lots': character 13: size 'lots': not a size; write 20GiB, 512MiB or "
        "bytes");
  CHECK(refusal_of("free_earlier:site=a") ==
        "edit 'free_earlier:site=a': character 20: by is missing; write "
        "free_earlier:site=SITE,by=N");
  CHECK(refusal_of("move:site=a").find("by stream or pool") != std::string::npos);
  CHECK(refusal_of("move:site=a,stream=1,pool=1").find("by stream or pool") != std::string::npos);
  CHECK(refusal_of("scale:site=a,by=-1").find("not a factor") != std::string::npos);
  CHECK(refusal_of("scale:site=a,by=nan").find("not a factor") != std::string::npos);
  CHECK(refusal_of("repeat_step:1,times=0").find("from 1 on") != std::string::npos);
  CHECK(refusal_of("drop_step:1,step=2").find("given twice") != std::string::npos);
  CHECK(refusal_of("empty_cache:steps").find("did you mean step?") != std::string::npos);
  CHECK(refusal_of("").find("unknown edit; use one of") != std::string::npos);
}

TEST_CASE("edit words: several edits in one text", "[edits]") {
  using Edits = std::vector<std::string>;
  CHECK(split_edits("none,preallocate:1GiB,stream=0,empty_cache:step") ==
        Edits{"none", "preallocate:1GiB,stream=0", "empty_cache:step"});
  CHECK(split_edits("scale:site=a.py:3 f,b.py:4 g,by=2,drop_step:1") ==
        Edits{"scale:site=a.py:3 f,b.py:4 g,by=2", "drop_step:1"});
  CHECK(split_edits("empty_cach:step,none") == Edits{"empty_cach:step", "none"});
}

TEST_CASE("edit: what a run lacks is a mistake on the command line", "[edits][cli]") {
  const CommandRun nowhere = replay_with("scale:site=zcratch,by=2");
  CHECK(nowhere.code == ExitCode::usage);
  CHECK(nowhere.err.find("no allocation was made at 'zcratch'; did you mean 'scratch'?") !=
        std::string::npos);
  CHECK(nowhere.err.find("'training.py:42 noise'") != std::string::npos);
  const CommandRun late = replay_with("drop_step:8");
  CHECK(late.code == ExitCode::usage);
  CHECK(late.err.find("the run has steps 0 to 7") != std::string::npos);
  CHECK(replay_with("repeat_step:1,times=99999999999").code == ExitCode::usage);
  CHECK(replay_with("then:/nowhere.pickle").code == ExitCode::bad_input);
}
