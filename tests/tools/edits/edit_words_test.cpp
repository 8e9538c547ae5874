#include "tools/edits/edit_words.hpp"

#include <boost/json.hpp>
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
  CHECK(refusal_of("preallocate:20000GiB") ==
        "edit 'preallocate:20000GiB': character 13: size '20000GiB': more than any GPU has; write "
        "1.00 TiB or less");
  CHECK(refusal_of("beside:f,context=99999TiB").find("context '99999TiB': more than any GPU has") !=
        std::string::npos);
  CHECK(refusal_of("beside:f,context=1048577TiB").find("more than any") != std::string::npos);
  CHECK(*read_edit("beside:f,context=1TiB").find("context") == "1TiB");
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
  CHECK(replay_with("beside:/nowhere.pickle").code == ExitCode::bad_input);
  CHECK(replay_with("beside:" + kRun + ",order=tme").err.find("use one of") != std::string::npos);
}

TEST_CASE("edit: two processes, and what becomes of the second", "[edits][cli]") {
  const CommandRun both =
      run({"replay", kRun, "--edit", "beside:" + kRun + ",context=0", "--format", "json"});
  const boost::json::value device = boost::json::parse(both.out).at("devices").at(0);
  // The same run twice, where memory does not end: each does what it does alone.
  CHECK(device.at("edited").at("beside").at("peak") == device.at("peak"));
  CHECK(device.at("edited").at("beside").at("ooms") == 0);
  CHECK(replay_with("beside:" + kRun).err.empty());
  const CommandRun three =
      run({"replay", kRun, "--edit", "beside:" + kRun, "--edit", "beside:" + kRun});
  CHECK(three.code == ExitCode::usage);
  CHECK(three.err.find("only two can share") != std::string::npos);
}

TEST_CASE("edit: time orders two runs only where it is known", "[edits][cli]") {
  const CommandRun late =
      run({"replay", kRun, "--edit", "drop_step:3", "--edit", "beside:" + kRun + ",order=clock"});
  CHECK(late.code == ExitCode::usage);
  CHECK(late.err.find("this run has no recorded times, or was edited before") != std::string::npos);
}

TEST_CASE("sweep: edits as an axis are those of replay", "[edits][cli]") {
  const std::string edits = "none,preallocate:200MiB,drop_step:3,beside:" + kRun + ",order=share";
  const CommandRun swept = run({"sweep", kRun, "--set", "edit=" + edits, "--set",
                                "expandable_segments=False,True", "--format", "json"});
  REQUIRE(swept.code == ExitCode::ok);
  const boost::json::value output = boost::json::parse(swept.out);
  const auto& runs = output.at("runs").as_array();
  REQUIRE(runs.size() == 8);
  for (const boost::json::value& each : runs) {
    const std::string edit(each.at("set").at("edit").as_string());
    const std::string conf(each.at("set").at("expandable_segments").as_string());
    Arguments words{"replay",   kRun,  "--alloc-conf", "expandable_segments:" + conf,
                    "--format", "json"};
    if (edit != "none") {
      words.insert(words.end(), {"--edit", edit});
    }
    const boost::json::value replayed = boost::json::parse(run(words).out);
    CAPTURE(edit, conf);
    CHECK(each.at("peak") == replayed.at("devices").at(0).at("peak"));
  }
  const CommandRun wrong = run({"sweep", kRun, "--set", "edit=none,drop_step:8"});
  CHECK(wrong.code == ExitCode::usage);
  CHECK(wrong.err.find("the run has steps 0 to 7") != std::string::npos);
}

TEST_CASE("explain: an edit that it names mends the run", "[edits][cli]") {
  const std::string failed =
      HIGHWATER_SOURCE "/traces/recorded/fake/gpt2-fp32-varlen-capacity2700.hwt.xz";
  const CommandRun explained = run({"explain", failed, "--format", "json"});
  const boost::json::value output = boost::json::parse(explained.out);
  std::size_t edits = 0;
  for (const auto& each : output.at("devices").at(0).at("counterfactuals").as_array()) {
    if (each.at("kind") == "edit") {
      const CommandRun mended = run({"replay", failed, "--capacity", "2700MiB", "--edit",
                                     std::string(each.at("edit").as_string()), "--format", "json"});
      const auto counts = boost::json::parse(mended.out).at("devices").at(0).at("counts");
      CHECK((counts.at("ooms") == 0) == each.at("survives").as_bool());
      ++edits;
    }
  }
  CHECK(edits >= 1);
}
