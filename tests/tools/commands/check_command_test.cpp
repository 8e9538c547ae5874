// Command line: `check`, the gate. A run keeps its limits or one line says which it exceeds, by how
// much and what grew; the same words stand wherever a budget breaks.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/snapshot_samples.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;
using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;

namespace check_command_test {

namespace {

const std::string kVarlen =
    HIGHWATER_SOURCE "/traces/recorded/fake/gpt2-fp32-varlen-capacity2700.hwt.xz";

/// A program with two call sites: `forward` in a segment of its own, `head` in another.
std::string program(const test::TempDir& folder, const std::string& name, int forward_mib,
                    int head_mib) {
  const auto bytes = [](int mib) { return std::to_string(mib << 20); };
  std::ofstream(folder / name) << "conf \n"
                               << "frame 0 10 train.py\tforward\nstack 0 0\n"
                               << "frame 1 20 train.py\thead\nstack 1 1\n"
                               << "a x " << bytes(forward_mib) << " 0 activation @0\n"
                               << "a y " << bytes(head_mib) << " 0 activation @1\n";
  return (folder / name).string();
}

/// A snapshot of a process that takes a block of so many MiB on each device.
std::string process(const test::TempDir& folder, const std::string& name,
                    const std::vector<int>& mib_by_device) {
  test::PyValue::List traces;
  for (const int mib : mib_by_device) {
    const test::PyValue entry = test::sample_entry().with("size", mib << 20);
    traces.push_back(test::PyValue::list({entry.with("action", "segment_alloc"), entry}));
  }
  test::write_snapshot(folder / name,
                       test::PyValue::dict({{"segments", test::PyValue::list({})},
                                            {"device_traces", test::PyValue::list(traces)}}));
  return (folder / name).string();
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

TEST_CASE("check: a limit is kept, or one line says by how much it is exceeded and who holds most",
          "[cli][check]") {
  const test::TempDir folder;
  const std::string file = program(folder, "a.trace", 40, 24);
  const CommandRun kept = run({"check", file, "--max-reserved", "64MiB"});
  CHECK(kept.code == ExitCode::ok);
  CHECK(first_line(kept.out) == "ok: peak reserved 64.00 MiB equals --max-reserved 64.00 MiB");
  const CommandRun over = run({"check", file, "--max-reserved", "50MiB"});
  CHECK(over.code == ExitCode::exceeded);
  CHECK(over.err.empty());
  CHECK(first_line(over.out) ==
        "FAILED: peak reserved 64.00 MiB is 14.00 MiB (28.0 %) above --max-reserved 50.00 MiB; "
        "most is held by train.py:10 forward 40.00 MiB, train.py:20 head 24.00 MiB");
}

TEST_CASE("check: the same words wherever a budget breaks", "[cli][check]") {
  const test::TempDir folder;
  const std::string file = program(folder, "a.trace", 40, 24);
  const CommandRun checked = run({"check", file, "--max-reserved", "50MiB"});
  const CommandRun replayed = run({"replay", file, "--max-reserved", "50MiB"});
  CHECK(replayed.code == ExitCode::exceeded);
  CHECK("FAILED: " + replayed.err.substr(std::string("highwater: ").size()) ==
        first_line(checked.out) + "\n");
  const CommandRun as_json = run({"replay", file, "--max-reserved", "50MiB", "--format", "json"});
  const boost::json::value budget = boost::json::parse(as_json.out).at("budget");
  CHECK_FALSE(budget.at("is_kept").as_bool());
  CHECK("highwater: " + boost::json::value_to<std::string>(budget.at("exceeded").at(0)) + "\n" ==
        as_json.err);
  CHECK(boost::json::parse(run({"replay", file, "--max-reserved", "64MiB", "--format", "json"}).out)
            .at("budget")
            .at("is_kept")
            .as_bool());
}

TEST_CASE("check: growth over the accepted run, and who grew", "[cli][check]") {
  const test::TempDir folder;
  const std::string before = program(folder, "before.trace", 40, 24);
  const std::string after = program(folder, "after.trace", 42, 24);
  const std::string baseline = (folder / "memory.json").string();
  const CommandRun missing = run({"check", before, "--baseline", baseline});
  CHECK(missing.code == ExitCode::bad_input);
  CHECK_THAT(missing.err, EndsWith("there is no baseline yet; add --accept to write it\n"));

  const CommandRun accepted = run({"check", before, "--baseline", baseline, "--accept"});
  CHECK(accepted.code == ExitCode::ok);
  CHECK(first_line(accepted.out) == "ok: accepted peak reserved 64.00 MiB");
  CHECK(run({"check", before, "--baseline", baseline, "--max-growth", "0%"}).code == ExitCode::ok);

  const CommandRun grown = run({"check", after, "--baseline", baseline});
  CHECK(grown.code == ExitCode::exceeded);
  CHECK(first_line(grown.out) ==
        "FAILED: peak reserved 66.00 MiB is 2.00 MiB (3.1 %) above 64.00 MiB of " + baseline +
            ", more than --max-growth 2 %; grew most: train.py:10 forward +2.00 MiB");
  CHECK(run({"check", after, "--baseline", baseline, "--max-growth", "4%"}).code == ExitCode::ok);
  CHECK(run({"check", after, "--baseline", baseline, "--max-growth", "2MiB"}).code == ExitCode::ok);

  const CommandRun again = run({"check", after, "--baseline", baseline, "--accept"});
  CHECK(first_line(again.out) ==
        "ok: accepted peak reserved 66.00 MiB, was 64.00 MiB; grew most: train.py:10 forward "
        "+2.00 MiB");
  CHECK(run({"check", after, "--baseline", baseline, "--max-growth", "0%"}).code == ExitCode::ok);
}

TEST_CASE("check: accepting twice writes the same bytes", "[cli][check]") {
  const test::TempDir folder;
  const std::string file = program(folder, "a.trace", 40, 24);
  const std::string baseline = (folder / "memory.json").string();
  run({"check", file, "--baseline", baseline, "--accept"});
  const std::string first = text_of(baseline);
  run({"check", file, "--baseline", baseline, "--accept"});
  CHECK(text_of(baseline) == first);
  CHECK_THAT(first, Contains("\n        {\"name\":\"train.py:20 head\",\"count\":1,"
                             "\"without_line\":\"train.py head\",\"requested_bytes\":25165824}"));
}

TEST_CASE("check: a run out of memory keeps no limit and is not accepted", "[cli][check]") {
  const test::TempDir folder;
  const std::string baseline = (folder / "memory.json").string();
  const CommandRun result =
      run({"check", kVarlen, "--max-reserved", "80GiB", "--baseline", baseline, "--accept"});
  CHECK(result.code == ExitCode::exceeded);
  CHECK_THAT(result.out, StartsWith("FAILED: out of memory: 140.72 MiB requested with ") &&
                             Contains("FAILED: not accepted"));
  CHECK_FALSE(std::filesystem::exists(baseline));
}

TEST_CASE("check: what shows no peak is refused, and no baseline is written", "[cli][check]") {
  const test::TempDir folder;
  const std::string baseline = (folder / "memory.json").string();
  const std::string file = (folder / "a.pickle").string();
  const auto check = [&] { return run({"check", file, "--baseline", baseline, "--accept"}); };
  test::write_snapshot(file, test::snapshot_of_entries({}));
  CHECK(check().code == ExitCode::bad_input);
  CHECK_THAT(check().err, Contains("devices: the file contains no data for any device; record "));
  test::write_snapshot(file, test::snapshot_of_segments({test::sample_segment()}));
  CHECK(check().code == ExitCode::bad_input);
  CHECK_THAT(check().err,
             Contains("a.pickle: no history in this file, so its peak is unknown; record with "
                      "torch.cuda.memory._record_memory_history("));
  CHECK_FALSE(std::filesystem::exists(baseline));
}

TEST_CASE("check: a device of the baseline that the run does not use", "[cli][check]") {
  const test::TempDir folder;
  const std::string both = process(folder, "both.pickle", {20, 30});
  const std::string first = process(folder, "first.pickle", {20});
  const std::string baseline = (folder / "memory.json").string();
  const auto check = [&](const std::string& file, const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"check", file, "--baseline", baseline};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  };
  REQUIRE(check(both, {"--accept"}).code == ExitCode::ok);
  const std::string of_both = text_of(baseline);
  const CommandRun missing = check(first, {});
  CHECK(missing.code == ExitCode::exceeded);
  CHECK_THAT(missing.out, StartsWith("ok: device 0: peak reserved 20.00 MiB equals ") &&
                              Contains("\nFAILED: device 1: in " + baseline +
                                       ", but the run does not use this device; accept "));
  const boost::json::value limits =
      boost::json::parse(check(first, {"--format", "json"}).out).at("limits");
  CHECK(limits.at(1).at("device") == 1);
  CHECK(limits.at(1).at("peak_reserved_bytes").is_null());
  CHECK(check(first, {"--device", "0"}).code == ExitCode::ok);
  CHECK_THAT(check(first, {"--accept"}).out,
             Contains("\nok: device 1: left out of " + baseline + ", because the run does not"));
  CHECK_THAT(check(both, {}).out,
             Contains("\nFAILED: device 1: this device is not in " + baseline + "; add it with"));
  CHECK(check(both, {"--device", "1", "--accept"}).code == ExitCode::ok);
  CHECK(check(both, {}).code == ExitCode::ok);
}

TEST_CASE("check: accepting one device leaves the others of the baseline as they are",
          "[cli][check]") {
  const test::TempDir folder;
  const std::string baseline = (folder / "memory.json").string();
  run({"check", process(folder, "a.pickle", {20, 30, 40}), "--baseline", baseline, "--accept"});
  const std::string grown = process(folder, "b.pickle", {20, 50, 60});
  REQUIRE(run({"check", grown, "--device", "1", "--baseline", baseline, "--accept"}).code ==
          ExitCode::ok);
  const std::string out = run({"check", grown, "--baseline", baseline}).out;
  CHECK_THAT(out, Contains("ok: device 0: ") && Contains("ok: device 1: ") &&
                      Contains("FAILED: device 2: peak reserved 60.00 MiB is 20.00 MiB (50.0 %) "
                               "above 40.00 MiB of "));
}

TEST_CASE("check: a plan says what its config.json left to the family", "[cli][check]") {
  const test::TempDir folder;
  const std::string config = (folder / "config.json").string();
  std::ofstream(config) << R"({"model_type": "gpt2", "n_layer": 2})";
  const std::vector<std::string> arguments{"check",   "--model", config,           "--seq", "64",
                                           "--steps", "1",       "--max-reserved", "4GiB"};
  CHECK_THAT(run(arguments).out,
             Contains("note: " + config +
                      ": missing from the file; using the family's defaults: vocab_size "));
  std::vector<std::string> as_json = arguments;
  as_json.insert(as_json.end(), {"--format", "json"});
  const boost::json::value notes = boost::json::parse(run(as_json).out).at("notes");
  CHECK_THAT(boost::json::value_to<std::string>(notes.at(0)),
             Contains("using the family's defaults"));
}

TEST_CASE("check: a folder that may not be read is an error of the input", "[cli][check]") {
  const test::TempDir folder;
  const std::string file = program(folder, "a.trace", 40, 24);
  const std::string long_name(300, 'x');  // which exists() refuses for everybody, root included
  const CommandRun result = run({"check", file, "--baseline", (folder / long_name).string()});
  CHECK(result.code == ExitCode::bad_input);
  CHECK_THAT(result.err, Contains("File name too long"));
}

TEST_CASE("check: a plan, and other settings than the baseline's", "[cli][check]") {
  const test::TempDir folder;
  const std::string baseline = (folder / "memory.json").string();
  const std::string plan =
      "check --model gpt2 --framework torch --seq 64 --steps 2 --baseline " + baseline;
  CHECK(run_line(plan + " --accept").code == ExitCode::ok);
  CHECK(run_line(plan).code == ExitCode::ok);
  const CommandRun larger = run_line(plan + " --batch 8");
  CHECK(larger.code == ExitCode::exceeded);
  CHECK_THAT(first_line(larger.out), Contains("; grew most: ") && Contains("transformer."));
  CHECK_THAT(run_line(plan + " --alloc-conf expandable_segments:True").out,
             Contains("note: the baseline was accepted under default settings, this run is under "
                      "expandable_segments:True"));
}

TEST_CASE("check: JUnit and annotations of GitHub Actions", "[cli][check]") {
  const test::TempDir folder;
  const std::string file = program(folder, "a<b>&.trace", 40, 24);
  const std::string junit = (folder / "junit.xml").string();
  const CommandRun result =
      run({"check", file, "--max-reserved", "50MiB", "--junit", junit, "--github"});
  CHECK_THAT(result.out,
             Contains("\n::error title=highwater check::FAILED: peak reserved 64.00 MiB is 14.00 "
                      "MiB (28.0 %25) above"));
  const std::string xml = text_of(junit);
  CHECK_THAT(xml, Contains("tests=\"1\" failures=\"1\" errors=\"0\"") &&
                      Contains("a&lt;b&gt;&amp;.trace\"") &&
                      Contains("name=\"device 0: max-reserved 50.00 MiB\">") &&
                      Contains("<failure message=\"FAILED: peak reserved 64.00 MiB"));
  run({"check", file, "--max-reserved", "1GiB", "--junit", junit});
  CHECK_THAT(text_of(junit), Contains("failures=\"0\"") && !Contains("<failure"));
}

TEST_CASE("check: JSON and CSV", "[cli][check]") {
  const test::TempDir folder;
  const std::string file = program(folder, "a.trace", 40, 24);
  const CommandRun result = run({"check", file, "--max-reserved", "50MiB", "--format", "json"});
  const boost::json::value root = boost::json::parse(result.out);
  CHECK(root.at("schema").as_string() == "highwater.check/1");
  CHECK_FALSE(root.at("is_kept").as_bool());
  const boost::json::value& limit = root.at("limits").at(0);
  CHECK(limit.at("peak_reserved_bytes").to_number<int>() == 64 << 20);
  CHECK(limit.at("allowed_bytes").to_number<int>() == 50 << 20);
  CHECK_THAT(run({"check", file, "--max-reserved", "50MiB", "--format", "csv"}).out,
             StartsWith("device,limit,kept,peak reserved,measured against,allowed,message\n"
                        "0,max-reserved 50.00 MiB,false,67108864,52428800,52428800,"));
}

TEST_CASE("check: wrong use is explained", "[cli][check]") {
  const test::TempDir folder;
  const std::string file = program(folder, "a.trace", 40, 24);
  const auto [options, message] = GENERATE(table<std::string, std::string>({
      {"", "check needs a limit; add --max-reserved SIZE or --baseline FILE"},
      {" --max-reserved 1GiB --max-growth 2%", "--max-growth needs a baseline"},
      {" --max-reserved 1GiB --accept", "--accept needs a baseline"},
      {" --baseline b.json --max-growth lots",
       "--max-growth lots: neither a percentage nor a size"},
      {" --baseline b.json --max-growth=-2%", "neither a percentage nor a size"},
      {" --max-reserved 1GiB --github --format json", "--github prints between the lines"},
  }));
  const CommandRun result = run_line("check " + file + options);
  CAPTURE(options);
  CHECK(result.code == ExitCode::usage);
  CHECK_THAT(result.err, Contains(message));
}

TEST_CASE("check: a damaged baseline is refused with its place", "[cli][check]") {
  const test::TempDir folder;
  const std::string file = program(folder, "a.trace", 40, 24);
  const std::string baseline = (folder / "memory.json").string();
  run({"check", file, "--baseline", baseline, "--accept"});
  const std::string whole = text_of(baseline);
  const auto [from, to, message] = GENERATE(table<std::string, std::string, std::string>({
      {"\"schema\"", "\"scheme\"", "the field 'schema' is missing"},
      {"highwater.baseline/1", "highwater.replay/1", "expected highwater.baseline/1"},
      {"67108864", "67108865", "devices[0].peak_reserved_bytes: differs from the sum"},
      {"\"count\":1", "\"count\":-1", "devices[0].sites[0].count"},
      {"25165824", "9000000000000000000", "larger than any memory"},
      {"{", "[", "memory.json"},
  }));
  CAPTURE(from, to);
  std::string damaged = whole;
  damaged.replace(damaged.find(from), from.size(), to);
  std::ofstream(baseline) << damaged;
  const CommandRun result = run({"check", file, "--baseline", baseline});
  CHECK(result.code == ExitCode::bad_input);
  CHECK_THAT(result.err, Contains(message));
}

TEST_CASE("diff: a run that ran out of memory fails a gate, however little it had reserved",
          "[cli][check][diff]") {
  const test::TempDir folder;
  const std::string file = program(folder, "a.trace", 40, 24);
  const CommandRun result = run({"diff", file, "--capacity-b", "50MiB", "--fail-above", "100%"});
  CHECK(result.code == ExitCode::exceeded);
  CHECK(result.err ==
        "highwater: out of memory: 24.00 MiB requested with 40.00 MiB reserved, of which 40.00 MiB "
        "were allocated\n");
  CHECK(run({"diff", file, "--capacity-b", "50MiB"}).code == ExitCode::ok);
}

TEST_CASE("diff: --fail-above is a gate in the same words", "[cli][check][diff]") {
  const test::TempDir folder;
  const std::string before = program(folder, "before.trace", 40, 24);
  const std::string after = program(folder, "after.trace", 48, 24);
  CHECK(run({"diff", before, after}).code == ExitCode::ok);
  CHECK_THAT(run({"diff", before, after}).out,
             Contains("(+12.5 %)\n  grew most: train.py:10 forward +8.00 MiB\n"));
  CHECK(run({"diff", before, after, "--fail-above", "8MiB"}).code == ExitCode::ok);
  CHECK(run({"diff", after, before, "--fail-above", "0%"}).code == ExitCode::ok);
  const CommandRun over = run({"diff", before, after, "--fail-above", "5%"});
  CHECK(over.code == ExitCode::exceeded);
  CHECK(over.err == "highwater: peak reserved 72.00 MiB is 8.00 MiB (12.5 %) above 64.00 MiB of " +
                        before +
                        ", more than --fail-above 5 %; grew most: train.py:10 forward "
                        "+8.00 MiB\n");
  const CommandRun as_json = run({"diff", before, after, "--fail-above", "5%", "--format", "json"});
  CHECK_FALSE(boost::json::parse(as_json.out).at("budget").at("is_kept").as_bool());
  CHECK_THAT(run({"diff", before, after, "--fail-above", "5%", "--view", "requests"}).err,
             Contains("--fail-above compares peaks; add --view peak"));
}

}  // namespace check_command_test
