// Command line: sweep, explain and advise. What they say of other settings and limits is what
// `replay` and `simulate` say under these.
#include <filesystem>
#include <sstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/command_run.hpp"
#include "tests/support/snapshot_samples.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;
using Catch::Contains;

namespace what_if_test {

namespace json = boost::json;

namespace {

const std::string kFake = HIGHWATER_SOURCE "/traces/recorded/fake/";
const std::string kOutOfMemory = kFake + "gpt2-fp32-varlen-capacity2700.hwt.xz";
const std::string kVector = HIGHWATER_SOURCE "/tests/data/conformance/h07_oom_retry.trace";
const std::string kShared = HIGHWATER_SHARED_DATA;
const std::string kPlan = "--model gpt2 --batch 1 --seq 128";

json::object output_of(Arguments arguments) {
  arguments.insert(arguments.end(), {"--format", "json"});
  const CommandRun result = run(arguments);
  CAPTURE(arguments, result.err);
  REQUIRE(result.code == ExitCode::ok);
  return json::parse(result.out).as_object();
}

json::object device_of(Arguments arguments) {
  return output_of(std::move(arguments)).at("devices").at(0).as_object();
}

std::uint64_t bytes(const json::value& value) {
  return value.to_number<std::uint64_t>();
}

std::string text(const json::object& object, std::string_view key) {
  return json::value_to<std::string>(object.at(key));
}

/// `replay FILE` under other settings and a limit, as JSON.
json::object replayed(const std::string& file, const std::string& conf, std::uint64_t limit) {
  return device_of({"replay", file, "--alloc-conf", conf, "--memory-limit", std::to_string(limit)});
}

bool survives(const json::object& replay) {
  return bytes(replay.at("counts").at("ooms")) == 0;
}

std::uint64_t peak_reserved(const json::object& replay) {
  return bytes(replay.at("peak").at("reserved_bytes"));
}

/// Replays the settings and limits of each counterfactual; returns how many there were.
std::size_t check_counterfactuals(const std::string& file, const json::object& explained) {
  const std::uint64_t limit = bytes(explained.at("oom").at("limit_bytes"));
  const std::string own = text(explained, "settings");
  std::size_t checked = 0;
  for (const json::value& entry : explained.at("counterfactuals").as_array()) {
    const json::object& trial = entry.as_object();
    const std::string kind = text(trial, "kind");
    if (kind != "settings" && kind != "more_memory") {
      continue;
    }
    const std::string conf = kind == "settings" ? text(trial, "conf") : own;
    const std::uint64_t more = kind == "settings" ? 0 : bytes(trial.at("bytes"));
    const json::object replay = replayed(file, conf, limit + more);
    CAPTURE(file, conf, more);
    CHECK(trial.at("survives").as_bool() == survives(replay));
    if (survives(replay)) {
      CHECK(bytes(trial.at("peak_reserved_bytes")) == peak_reserved(replay));
    }
    ++checked;
  }
  return checked;
}

const json::object* find_conf(const json::object& explained, std::string_view conf) {
  for (const json::value& trial : explained.at("counterfactuals").as_array()) {
    const json::value* const found = trial.as_object().if_contains("conf");
    if (found != nullptr && found->as_string() == conf) {
      return &trial.as_object();
    }
  }
  return nullptr;
}

bool is_shared_data_absent() {
  if (std::filesystem::exists(kShared + "/truth/core")) {
    return false;
  }
  WARN("skipped: shared data absent");
  return true;
}

std::string truth(const std::string& name) {
  return kShared + "/truth/core/" + name + ".pickle.xz";
}

}  // namespace

TEST_CASE("explain: a recording that ran out of memory", "[cli][explain]") {
  const json::object explained = device_of({"explain", kOutOfMemory});
  CHECK(text(explained, "cause") == "fragmentation");
  CHECK(explained.at("reproduced").as_bool());
  CHECK(bytes(explained.at("oom").at("limit_bytes")) == 2700ULL << 20U);
  const json::object* expandable = find_conf(explained, "expandable_segments:True");
  REQUIRE(expandable != nullptr);
  CHECK(expandable->at("survives").as_bool());
  CHECK(check_counterfactuals(kOutOfMemory, explained) >= 5);
  CHECK_FALSE(survives(replayed(kOutOfMemory, "", 2700ULL << 20U)));
}

TEST_CASE("explain: each format says the same", "[cli][explain]") {
  const json::object explained = device_of({"explain", kOutOfMemory});
  const CommandRun table = run({"explain", kOutOfMemory});
  CHECK_THAT(table.out, Contains(text(explained, "verdict")));
  CHECK_THAT(table.out, Contains("would have succeeded with expandable_segments:True"));
  // Of the values of one option people see the best.
  CHECK_THAT(table.out, Contains("max_split_size_mb:128"));
  CHECK_THAT(table.out, !Contains("max_split_size_mb:64"));
  CHECK_THAT(run({"explain", kOutOfMemory, "--format", "markdown"}).out,
             Contains(text(explained, "verdict")));
  CHECK_THAT(run({"explain", kOutOfMemory, "--format", "csv"}).out, Contains("cause"));
}

TEST_CASE("advise: the settings that save the run, each trial as replayed", "[cli][advise]") {
  const json::object advised = device_of({"advise", kOutOfMemory});
  CHECK(text(advised, "advice") == "expandable_segments:True");
  CHECK_FALSE(advised.at("present").at("survives").as_bool());
  const json::array& trials = advised.at("trials").as_array();
  REQUIRE(trials.size() >= 10);
  for (std::size_t i = 0; i < trials.size(); i += 5) {
    const json::object& trial = trials[i].as_object();
    const json::object replay = replayed(kOutOfMemory, text(trial, "settings"), 2700ULL << 20U);
    CAPTURE(text(trial, "settings"));
    CHECK(trial.at("survives").as_bool() == survives(replay));
    CHECK(bytes(trial.at("peak_reserved_bytes")) == peak_reserved(replay));
  }
  const std::uint64_t least = bytes(advised.at("present").at("smallest_limit_bytes"));
  CHECK(survives(replayed(kOutOfMemory, "", least)));
  CHECK_FALSE(survives(replayed(kOutOfMemory, "", least - (2U << 20U))));
}

TEST_CASE("advise: the text is made to be pasted", "[cli][advise]") {
  CHECK_THAT(run({"advise", kOutOfMemory}).out,
             Contains("\n  export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"));
}

TEST_CASE("sweep: a run is a replay under its settings, in input order", "[cli][sweep]") {
  const json::object swept =
      output_of({"sweep", kOutOfMemory, "--memory-limit", "2700MiB", "--set",
                 "max_split_size_mb=default,64", "--set", "expandable_segments=True,default"});
  const std::string confs[] = {"expandable_segments:True", "",
                               "max_split_size_mb:64,expandable_segments:True",
                               "max_split_size_mb:64"};
  const json::array& runs = swept.at("runs").as_array();
  REQUIRE(runs.size() == 4);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const json::object replay = replayed(kOutOfMemory, confs[i], 2700ULL << 20U);
    CAPTURE(confs[i]);
    CHECK(text(runs[i].as_object(), "settings") == confs[i]);
    CHECK(runs[i].at("peak") == replay.at("peak"));
    CHECK(runs[i].at("counts") == replay.at("counts"));
  }
  CHECK(swept.at("best").at(0).to_number<std::size_t>() == 0);
  CHECK(swept.at("bases").at(0).at("peak") == runs[1].at("peak"));
}

TEST_CASE("sweep: whole settings are values as well, which single ones change", "[cli][sweep]") {
  const json::object swept = output_of(
      {"sweep", kOutOfMemory, "--memory-limit", "2700MiB", "--set", "max_split_size_mb=default,96",
       "--set", "alloc-conf=expandable_segments:True,max_split_size_mb:64;default"});
  const std::string confs[] = {"expandable_segments:True", "",
                               "max_split_size_mb:96,expandable_segments:True",
                               "max_split_size_mb:96"};
  const json::array& runs = swept.at("runs").as_array();
  REQUIRE(runs.size() == 4);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CAPTURE(confs[i]);
    CHECK(text(runs[i].as_object(), "settings") == confs[i]);
    CHECK(runs[i].at("peak") == replayed(kOutOfMemory, confs[i], 2700ULL << 20U).at("peak"));
  }
}

TEST_CASE("advise: settings of one's own stand beside those that it finds", "[cli][advise]") {
  const std::string conf = "max_split_size_mb:777,garbage_collection_threshold:0.65";
  const Arguments arguments{"advise", kOutOfMemory, "--top", "1", "--try", conf};
  CHECK_THAT(run(arguments).out, Contains(conf + " (yours)"));
  const json::object advised = output_of(arguments);
  const json::array& trials = advised.at("devices").at(0).at("trials").as_array();
  const auto own = std::ranges::find_if(
      trials, [](const json::value& trial) { return trial.at("asked").as_bool(); });
  REQUIRE(own != trials.end());
  CHECK(own->at("settings").as_string() == conf);
  CHECK(own->at("smallest_limit_bytes").is_number());
}

TEST_CASE("sweep: JSON lines are the runs of JSON", "[cli][sweep]") {
  const Arguments arguments{"sweep", kOutOfMemory, "--set", "expandable_segments=auto"};
  const json::object swept = output_of(arguments);
  Arguments lines = arguments;
  lines.insert(lines.end(), {"--format", "jsonl"});
  std::istringstream stream(run(lines).out);
  std::size_t number = 0;
  for (std::string line; std::getline(stream, line); ++number) {
    json::object object = json::parse(line).as_object();
    CHECK(text(object, "schema") == "highwater.sweep/1");
    object.erase("schema");
    CHECK(object == swept.at("runs").at(number).as_object());
  }
  CHECK(number == 2);
  CHECK(swept.at("runs").at(1).at("set").at("expandable_segments").as_string() == "True");
}

TEST_CASE("sweep: commas in brackets belong to one value", "[cli][sweep]") {
  const std::string divisions = "[256:1,512:2,>:4]";
  const json::object swept = output_of({"sweep", kOutOfMemory, "--memory-limit", "4GiB", "--set",
                                        "roundup_power2_divisions=" + divisions + ",default"});
  REQUIRE(swept.at("runs").as_array().size() == 2);
  CHECK(swept.at("runs").at(0).at("peak") ==
        replayed(kOutOfMemory, "roundup_power2_divisions:" + divisions, 4ULL << 30U).at("peak"));
}

TEST_CASE("sweep: another device has another limit than the one that failed", "[cli][sweep]") {
  const json::object swept = output_of({"sweep", kOutOfMemory, "--set", "capacity=2700MiB,4GiB"});
  CHECK(bytes(swept.at("runs").at(0).at("counts").at("ooms")) > 0);
  CHECK(bytes(swept.at("runs").at(1).at("counts").at("ooms")) == 0);
}

TEST_CASE("sweep: the best rows, and how many there are besides", "[cli][sweep]") {
  const std::string out =
      run({"sweep", kOutOfMemory, "--set", "max_split_size_mb=32,64,128", "--top", "1"}).out;
  CHECK_THAT(out, Contains("... 2 more"));
  CHECK_THAT(out, Contains("128 "));
}

TEST_CASE("sweep: options of a plan", "[cli][sweep]") {
  Arguments arguments = words("sweep " + kPlan + " --set batch=1,2,4 --set checkpoint=none,full");
  const json::object swept = output_of(arguments);
  const json::array& runs = swept.at("runs").as_array();
  REQUIRE(runs.size() == 6);
  CHECK(runs[3].at("set").at("batch").as_string() == "2");
  CHECK(runs[3].at("set").at("checkpoint").as_string() == "full");
  const json::object simulated =
      json_of("simulate --model gpt2 --batch 2 --seq 128 --checkpoint full");
  CHECK(bytes(runs[3].at("peak").at("reserved_bytes")) ==
        bytes(simulated.at("peak").at("reserved_bytes")));
}

TEST_CASE("sweep: a plan that cannot be is one of the rows", "[cli][sweep]") {
  const json::object swept = output_of(words("sweep " + kPlan + " --set tp=1,5"));
  CHECK_FALSE(swept.at("runs").at(0).as_object().contains("problem"));
  CHECK_THAT(text(swept.at("runs").at(1).as_object(), "problem"), Contains("tp 5"));
  CHECK_THAT(run(words("sweep " + kPlan + " --set tp=1,5")).out,
             Catch::EndsWith("2 combinations: 1 fit, 0 out of memory, 1 impossible\n"));
}

TEST_CASE("sweep: a typing error is wrong usage, and all are told before anything runs",
          "[cli][sweep]") {
  const CommandRun result =
      run(words("sweep " + kPlan + " --set batch=1,2,x --set optimizer=adamw_torch,soap,admw"));
  CHECK(result.code == ExitCode::usage);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, Contains("--set batch=x: not a whole number") &&
                             Contains("--set optimizer=soap: known, but not modelled yet") &&
                             Contains("--set optimizer=admw: unknown; did you mean adamw?") &&
                             !Contains("adamw_torch:"));
}

TEST_CASE("sweep: the words that reports print, and other programs' names", "[cli][sweep]") {
  const json::object split =
      output_of({"sweep", kVector, "--set", "max_split_size_mb=default,unlimited"});
  CHECK(split.at("runs").at(0).at("peak") == split.at("runs").at(1).at("peak"));
  const json::object named =
      output_of(words("sweep " + kPlan + " --set per_device_train_batch_size=1,2"));
  CHECK(named.at("runs").at(1).at("set").as_object().contains("batch"));
}

// ZeRO's stages keep fp32 copies of a model in bf16 (DeepSpeed 0.19.8, stage_1_and_2.py), DDP keeps
// what the model has.
TEST_CASE("sweep: kinds of data parallelism that keep states of other widths are told apart",
          "[cli][sweep]") {
  const std::string plan = "sweep --model gpt2 --seq 64 --dp 2 --set dp-kind=ddp,zero1 ";
  CHECK_THAT(run_line(plan + "--precision bf16").out,
             Contains("all in bf16 with ddp, fp32 copies of the parameters and fp32 moments with "
                      "zero1 (DeepSpeed)"));
  CHECK_THAT(run_line(plan + "--precision fp32").out, !Contains("fp32 copies"));
}

TEST_CASE("sweep: of batches, the largest that fits is the best", "[cli][sweep]") {
  CHECK_THAT(run(words("sweep " + kPlan + " --capacity 3GiB --set batch=1,2,64")).out,
             Contains("largest batch that fits: batch=2: "));
}

TEST_CASE("explain: a plan with too little memory", "[cli][explain][long]") {
  const json::object explained = device_of(words("explain " + kPlan + " --capacity 1GiB"));
  CHECK(text(explained, "cause") == "capacity");
  bool is_saved = false;
  for (const json::value& entry : explained.at("counterfactuals").as_array()) {
    if (text(entry.as_object(), "kind") != "more_memory") {
      continue;
    }
    const std::uint64_t limit =
        bytes(explained.at("oom").at("limit_bytes")) + bytes(entry.at("bytes"));
    const json::object simulated =
        json_of("simulate " + kPlan + " --capacity " + std::to_string(limit));
    CHECK(entry.at("survives").as_bool() == survives(simulated));
    is_saved = is_saved || survives(simulated);
  }
  CHECK(is_saved);
}

TEST_CASE("explain: a plan that runs out of memory shows what of it would fit",
          "[cli][explain][long]") {
  const std::string plan = "explain --model gpt2 --batch 8 --seq 512 --precision amp-bf16 ";
  const CommandRun result = run_line(plan + "--capacity 4GiB");
  CHECK_THAT(result.out,
             Contains("Changes of the plan with which it fits") && Contains("fits with --batch"));
  CHECK_FALSE(device_of(words(plan + "--capacity 4GiB")).at("cures").as_array().empty());
  CHECK_THAT(run_line(plan + "--capacity 40GiB").out, !Contains("Changes of the plan"));
}

TEST_CASE("explain: what was free at the peak of a run that did not fail", "[cli][explain]") {
  const test::TempDir folder;
  const auto verdict_of = [&](const std::string& text) {
    test::write_file(folder / "run.trace", text);
    return run({"explain", (folder / "run.trace").string()}).out;
  };
  // 20 MiB stay in a segment of 60, beside which 60 more are asked for: 40 are free.
  CHECK_THAT(
      verdict_of("conf \na a 62914560 0\nf a\na b 20971520 0\na c 62914560 0\n"),
      Contains("peak reserved 120.00 MiB, allocated 80.00 MiB; 40.00 MiB of it were free then "
               "(33 %), 40.00 MiB in pieces between live blocks; expandable_segments:True "
               "would need 80.00 MiB"));
  CHECK_THAT(verdict_of("conf \na a 62914560 0\n"), !Contains("were free then"));
}

TEST_CASE("what-if: a snapshot without history says so, and what it shows", "[cli][explain]") {
  const test::TempDir folder;
  const std::string path = (folder / "state.pickle").string();
  test::write_snapshot(path, test::snapshot_of_segments({test::sample_segment()}));
  const CommandRun explained = run({"explain", path});
  CHECK(explained.code == ExitCode::ok);
  CHECK_THAT(
      explained.out,
      Contains("no history in this file, only the state when it was taken: reserved 2.00 MiB, "
               "allocated 1.00 KiB; whether it ran out of memory, and why, cannot be told") &&
          Contains("_record_memory_history") && Contains("2.00 MiB in 1 segment, with 1 live") &&
          Contains("Who holds memory") && Contains("train.py:12 step") &&
          !Contains("does not run out of memory") && !Contains("Bounds for any"));
  CHECK_FALSE(device_of({"explain", path}).at("history").as_bool());
  CHECK(device_of({"explain", kOutOfMemory}).at("history").as_bool());
  const CommandRun advised = run({"advise", path, "--memory-limit", "1GiB"});
  CHECK_THAT(advised.out,
             Contains("no advice: no history in this file") && Contains("_record_memory_history"));
  const CommandRun swept = run({"sweep", path, "--set", "expandable_segments=False,True"});
  CHECK(swept.code == ExitCode::bad_input);
  CHECK_THAT(swept.err, Contains("no history in this file, so there is nothing to try settings on; "
                                 "record with"));
  CHECK(swept.out.empty());
  const boost::json::object scanned = json_of("scan " + path);
  CHECK(scanned.at("rows").at(0).at("fidelity").is_null());
  CHECK_THAT(run({"scan", path}).out, Contains("nothing to compare"));
}

TEST_CASE("what-if: wrong usage exits with 2 and says what was meant", "[cli][errors]") {
  const auto [arguments, message] = GENERATE(table<Arguments, std::string>({
      {{"explain"}, "give a FILE (snapshot or trace), or a plan with --model"},
      {{"advise"}, "give a FILE (snapshot or trace), or a plan with --model"},
      {{"explain", kVector, kVector}, "one FILE at a time"},
      {{"explain", kVector, "--batch", "4"}, "--batch applies only to a plan"},
      {{"advise", kVector, "--model", "gpt2"}, "--model applies only to a plan"},
      {{"sweep", kVector, "--checkpoint", "full"}, "--checkpoint applies only to a plan"},
      {{"explain", kVector, "--top", "0"}, "--top 0: not a number of rows; use 1 or more"},
      {{"sweep", kVector, "--top", "0"}, "--top 0: not a number of rows; use 1 or more"},
      {{"sweep", kVector, "--set", "max_splt_size_mb=64"}, "did you mean max_split_size_mb?"},
      {{"sweep", kVector, "--set", "max_split_size_mb=1"}, "too small, must be > 20"},
      {{"sweep", kVector, "--set", "alloc-conf=expandable_segment:True"},
       "--set alloc-conf 'expandable_segment:True'"},
      {{"advise", kVector, "--try", "expandable_segment:True"},
       "did you mean expandable_segments?"},
      {{"sweep", kVector, "--set", "capacity=80 Gigs"}, "not a size"},
      {{"sweep", kOutOfMemory, "--set", "fraction=0.5"}, "add --capacity or --gpu"},
      {{"sweep", kVector, "--set", "fraction=2"}, "not a number from 0 to 1"},
      {{"sweep", kVector, "--set", "memory-limit=auto"}, "no values to choose from"},
      {{"sweep", kVector, "--set", "batch=1,2"}, "--set batch: applies only with --model"},
      {{"sweep", kVector, "--set", "torch=1.0"}, "unknown release"},
      {{"sweep", kVector, "--set", "expandable_segments"}, "write key=value"},
      {{"sweep", kVector, "--set", "expandable_segments="}, "write key=value"},
      {{"sweep", kVector, "--format", "yaml"}, "--format yaml: unknown format"},
  }));
  CAPTURE(arguments);
  const CommandRun result = run(arguments);
  CHECK(result.code == ExitCode::usage);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, Contains(message));
}

TEST_CASE("what-if: a file that stops in the middle", "[cli][errors]") {
  const std::string content = test::read_file(kOutOfMemory);
  const test::TempDir folder;
  const std::string cut = (folder.path() / "cut.hwt.xz").string();
  test::write_file(cut, content.substr(0, content.size() / 2));
  for (const std::string command : {"explain", "advise", "sweep"}) {
    const CommandRun result = run({command, cut});
    CAPTURE(command);
    CHECK(result.code == ExitCode::bad_input);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Contains("cut.hwt.xz"));
  }
}

TEST_CASE("what-if: real recordings that ran out of memory", "[cli][truth]") {
  if (is_shared_data_absent()) {
    return;
  }
  const std::string name = GENERATE("gpt2-fp32-varlen-limit2800", "gpt2-fp32-varlen-capacity2700",
                                    "gpt2-fp32-varlen-capacity2800", "gpt2-fp32-varlen-limit2720");
  CAPTURE(name);
  const json::object explained = device_of({"explain", truth(name)});
  CHECK(text(explained, "cause") == "fragmentation");
  CHECK(explained.at("reproduced").as_bool());
  const json::object* expandable = find_conf(explained, "expandable_segments:True");
  REQUIRE(expandable != nullptr);
  CHECK(expandable->at("survives").as_bool());
  CHECK(check_counterfactuals(truth(name), explained) >= 2);
  CHECK(text(device_of({"advise", truth(name)}), "advice") == "expandable_segments:True");
}

TEST_CASE("what-if: the same run was recorded with the advised setting, and survived",
          "[cli][truth]") {
  if (is_shared_data_absent()) {
    return;
  }
  const json::object recorded =
      device_of({"explain", truth("gpt2-fp32-varlen-expandable-limit2800")});
  CHECK(recorded.at("oom").is_null());
  const json::object explained = device_of({"explain", truth("gpt2-fp32-varlen-limit2800")});
  const json::object* expandable = find_conf(explained, "expandable_segments:True");
  REQUIRE(expandable != nullptr);
  // The recording that failed ends there; the other one went on to longer sequences.
  CHECK(bytes(expandable->at("peak_reserved_bytes")) < bytes(recorded.at("peak_reserved_bytes")));
  CHECK(bytes(recorded.at("peak_reserved_bytes")) < 2800ULL << 20U);
}

TEST_CASE("what-if: a limit on splitting that is in the way", "[cli][truth]") {
  if (is_shared_data_absent()) {
    return;
  }
  const std::string file = truth("gpt2-fp32-varlen-split64-limit2800");
  const json::object explained = device_of({"explain", file});
  CHECK(text(explained, "cause") == "fragmentation");
  CHECK(check_counterfactuals(file, explained) >= 2);
  CHECK_FALSE(device_of({"advise", file}).at("advice").is_null());
}

TEST_CASE("what-if: a failure that no setting prevents", "[cli][truth]") {
  if (is_shared_data_absent()) {
    return;
  }
  const json::object advised = device_of({"advise", truth("gpt2-ampbf16-varlen-limit6800")});
  CHECK(advised.at("advice").is_null());
  CHECK_THAT(text(advised, "verdict"), Contains("no settings save this run"));
}

TEST_CASE("advise: refuses where the file does not allow it, and says why", "[cli][truth]") {
  if (is_shared_data_absent()) {
    return;
  }
  const auto [name, reason] = GENERATE(table<std::string, std::string>({
      {"docubox__tiny_no_trace", "no history in this file"},
      {"drisspg__mini_trimmed_inconsistent", "entries are missing"},
      {"cherryni2022__lm_large_bwd_ringtruncated", "differs from the recorded one by 19 %"},
  }));
  const json::object advised = device_of({"advise", kShared + "/snapshots/" + name + ".pickle.xz"});
  CAPTURE(name);
  CHECK_FALSE(advised.at("trusted").as_bool());
  CHECK(advised.at("advice").is_null());
  CHECK_THAT(text(advised, "verdict"), Contains(reason));
}

TEST_CASE("explain: blocks older than a recording are no steps", "[cli][truth]") {
  if (is_shared_data_absent()) {
    return;
  }
  const json::object explained =
      device_of({"explain", kShared + "/snapshots/docubox__tiny_no_trace.pickle.xz"});
  CHECK(bytes(explained.at("drift").at("steps")) == 0);
  CHECK(explained.at("drift").at("leaks").as_array().empty());
}

TEST_CASE("sweep: the phase of the peak explains what an option does not save", "[cli][sweep]") {
  const Arguments sweep{
      "sweep", "--model", "gpt2", "--batch", "2", "--seq", "128", "--set", "checkpoint=none,full"};
  const json::object swept = output_of(sweep);
  const auto& runs = swept.at("runs").as_array();
  REQUIRE(runs.size() == 2);
  for (const json::value& run : runs) {
    const std::string line = "simulate --model gpt2 --batch 2 --seq 128 --checkpoint " +
                             text(run.at("set").as_object(), "checkpoint");
    std::uint64_t highest = 0;
    std::string phase;
    const json::object simulated = json_of(line);
    for (const json::value& each : simulated.at("phases").as_array()) {
      const std::uint64_t reserved = bytes(each.at("peak").at("reserved_bytes"));
      if (reserved > highest) {
        highest = reserved;
        phase = text(each.as_object(), "phase");
      }
    }
    CAPTURE(line);
    CHECK(text(run.at("peak_reserved_moment").as_object(), "phase") == phase);
  }
  CHECK(bytes(runs[1].at("activations_peak_bytes")) < bytes(runs[0].at("activations_peak_bytes")));
  const std::string table = run(sweep).out;
  CHECK_THAT(table, Contains("reached in") && Contains("most activations"));
  CHECK_THAT(run({"sweep", kVector, "--set", "expandable_segments=False,True"}).out,
             !Contains("reached in"));
}

}  // namespace what_if_test
