// Command line: `export`, `redact` and `scan`: what other tools find in the files.
#include <array>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/studies/scan/rank_comparison.hpp"

using namespace highwater;
using namespace highwater::test;
using Catch::Contains;

namespace export_command_test {

namespace {

const std::string kRecorded = HIGHWATER_SOURCE "/traces/recorded/fake/";
const std::string kShared = HIGHWATER_SHARED_DATA;

boost::json::object replay_of(const std::string& line) {
  return json_of("replay " + line).at("devices").at(0).as_object();
}

std::uint64_t number(const boost::json::value& object, std::string_view group,
                     std::string_view key) {
  return object.at(group).at(key).to_number<std::uint64_t>();
}

void succeed(const std::string& line) {
  const CommandRun result = run_line(line);
  CAPTURE(line, result.err);
  REQUIRE(result.code == ExitCode::ok);
}

/// The decisions that a recording shows are those that the model makes, all of them.
void check_faithful(const boost::json::object& replay) {
  const auto& fidelity = replay.at("fidelity").as_object();
  CHECK(number(replay, "fidelity", "alloc_addresses_matched") ==
        number(replay, "fidelity", "alloc_addresses_compared"));
  CHECK(number(replay, "fidelity", "segment_events_matched") ==
        number(replay, "fidelity", "segment_events_recorded"));
  CHECK(number(replay, "fidelity", "final_segments_matched") ==
        number(replay, "fidelity", "final_segments_compared"));
  CHECK(fidelity.at("first_divergence").is_null());
}

void check_same_figures(const boost::json::object& a, const boost::json::object& b) {
  CHECK(a.at("peak") == b.at("peak"));
  CHECK(a.at("final") == b.at("final"));
  for (const auto* key : {"allocs", "device_alloc", "device_free", "ooms"}) {
    CAPTURE(key);
    CHECK(number(a, "counts", key) == number(b, "counts", key));
  }
}

/// What tests/tools/commands/check_export.py prints; nothing without python3.
std::optional<boost::json::object> python_check(const std::string& kind, const std::string& file) {
  if (std::system("command -v python3 >/dev/null 2>&1") != 0) {
    WARN("skipped: no python3");
    return std::nullopt;
  }
  const std::string line = "python3 " HIGHWATER_SOURCE "/tests/tools/commands/check_export.py " +
                           kind + " " + file + " 2>&1";
  FILE* const pipe = ::popen(line.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 4096> buffer{};
  while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe)) {
    text.append(buffer.data(), n);
  }
  CAPTURE(text);
  REQUIRE(::pclose(pipe) == 0);
  return boost::json::parse(text).as_object();
}

}  // namespace

TEST_CASE("export: a recording under its own settings reproduces itself", "[cli][export]") {
  const TempDir folder;
  const std::string copy = (folder / "copy.pickle").string();
  for (const std::string name : {"gpt2-fp32-varlen-expandable-limit2700", "gpt2-fp32-limit-oom",
                                 "gpt2-fsdp1x8-fp32-lag20"}) {
    CAPTURE(name);
    const std::string file = kRecorded + name + ".hwt.xz";
    succeed("export " + file + " --output " + copy);
    CHECK(replay_of(copy) == replay_of(file));
  }
}

TEST_CASE("export: a simulated history replays to the same figures", "[cli][export]") {
  const TempDir folder;
  const std::string simulated = (folder / "simulated.pickle").string();
  const std::array<std::string, 4> options{
      " --alloc-conf expandable_segments:True", " --alloc-conf max_split_size_mb:64",
      " --alloc-conf roundup_power2_divisions:4 --torch 2.11", " --capacity 3GiB"};
  for (const std::string name : {"gpt2-fp32-varlen-capacity2700", "gpt2-fp32-emptycache"}) {
    for (const std::string& option : options) {
      CAPTURE(name, option);
      const std::string file = kRecorded + name + ".hwt.xz";
      succeed("export " + file + option + " --output " + simulated);
      const auto back = replay_of(simulated);
      check_same_figures(back, replay_of(file + option));
      check_faithful(back);
    }
  }
}

TEST_CASE("export: Python reads the snapshot and finds the same peaks", "[cli][export]") {
  const TempDir folder;
  const std::string file = kRecorded + "gpt2-fp32-varlen-capacity2700.hwt.xz";
  const std::string options = " --alloc-conf expandable_segments:True --capacity 2800MiB";
  const std::string simulated = (folder / "s.pickle").string();
  succeed("export " + file + options + " --output " + simulated);
  const auto found = python_check("snapshot", simulated);
  if (found) {
    const auto expected = replay_of(file + options);
    const auto& device = found->at("devices").at(0);
    CHECK(device.at("peak_reserved") == expected.at("peak").at("reserved_bytes"));
    CHECK(device.at("peak_requested") == expected.at("peak").at("requested_bytes"));
    CHECK(device.at("ooms") == expected.at("counts").at("ooms"));
  }
}

TEST_CASE("export: a plan comes out with stacks, steps and phases", "[cli][export]") {
  const TempDir folder;
  const std::string plan = "--model gpt2 --batch 1 --seq 128 --steps 2";
  const std::string simulated = (folder / "plan.pickle").string();
  succeed("export " + plan + " --output " + simulated);
  const auto back = replay_of(simulated);
  check_faithful(back);
  CHECK(back.at("peak").at("reserved_bytes") ==
        json_of("simulate " + plan).at("peak").at("reserved_bytes"));
  const auto found = python_check("snapshot", simulated);
  if (found) {
    CHECK(found->at("annotations").to_number<int>() >= 4);
    CHECK(found->at("devices").at(0).at("stacks").to_number<int>() > 0);
  }
}

TEST_CASE("export: a Chrome trace keeps the rules of its format and every peak", "[cli][export]") {
  const TempDir folder;
  const std::string file = kRecorded + "gpt2-fp32-varlen-capacity2700.hwt.xz";
  const std::string trace = (folder / "t.json.gz").string();
  succeed("export " + file + " --output " + trace);
  const auto found = python_check("perfetto", trace);
  if (found) {
    const auto expected = replay_of(file);
    CHECK(found->at("counters").at("reserved") == expected.at("peak").at("reserved_bytes"));
    CHECK(found->at("counters").at("allocated") == expected.at("peak").at("allocated_bytes"));
    CHECK(found->at("counters").as_object().size() > 3);  // pools and streams too
    CHECK(found->at("instants").at("out of memory").to_number<std::uint64_t>() ==
          number(expected, "counts", "ooms"));
  }
}

namespace {

// Worked out by hand: 1 MiB and 3 MiB live together, then 2 MiB is left.
constexpr const char* kByHand =
    "conf \nframe 0 8 main.py\tmain\nframe 1 42 model.py\tforward; deep\n"
    "stack 0 0\nstack 1 1 0\nstep 1\n"
    "a x 1048576 0 @0\na y 3145728 0 @1\nf x\nf y\na z 2097152 0 @1\n";

}  // namespace

TEST_CASE("export: csv and folded stacks of a trace written by hand", "[cli][export]") {
  const TempDir folder;
  const std::string trace = (folder / "hand.trace").string();
  write_file(trace, kByHand);
  const std::string folded = (folder / "hand.folded").string();
  succeed("export " + trace + " --output " + folded);
  CHECK(read_file(folded) ==
        "main.py:8 main 1048576\nmain.py:8 main;model.py:42 forward, deep 3145728\n");
  succeed("export " + trace + " --at end --output " + folded);
  CHECK(read_file(folded) == "main.py:8 main;model.py:42 forward, deep 2097152\n");
  succeed("export " + trace + " --at 0 --output " + folded);
  CHECK(read_file(folded) == "main.py:8 main 1048576\n");
  CHECK(run_line("export " + trace + " --at 5 --output " + folded).code == ExitCode::usage);

  const std::string csv = (folder / "hand.csv").string();
  succeed("export " + trace + " --output " + csv);
  std::istringstream lines(read_file(csv));
  std::string line;
  std::getline(lines, line);
  CHECK(line ==
        "device,n,action,id,bytes,stream,address,reserved,allocated,active,requested,step,phase,"
        "site");
  std::getline(lines, line);
  CHECK(line ==
        "0,0,alloc,x,1048576,0,0x7f0000000000,2097152,1048576,1048576,1048576,1,,main.py:8 main");
  std::getline(lines, line);  // of its own 20 MiB segment, in which 2 MiB boundaries do not matter
  CHECK_THAT(line, Contains(",23068672,4194304,4194304,4194304,1,,model.py:42 forward; deep"));
  std::getline(lines, line);
  CHECK(line ==
        "0,2,free,x,1048576,0,0x7f0000000000,23068672,3145728,3145728,3145728,1,,main.py:8 main");
}

TEST_CASE("export: profiles of a trace written by hand, read by Python", "[cli][export]") {
  const TempDir folder;
  const std::string trace = (folder / "hand.trace").string();
  write_file(trace, kByHand);
  const std::string pprof = (folder / "hand.pb.gz").string();
  const std::string speedscope = (folder / "hand.speedscope.json").string();
  const std::string at_end = (folder / "end.pb").string();
  succeed("export " + trace + " --output " + pprof);
  succeed("export " + trace + " --at end --output " + at_end);
  succeed("export " + trace + " --output " + speedscope);
  const std::string main = R"(["main","main.py",8])";
  const std::string deep = R"(["forward; deep","model.py",42])";
  const auto profile = python_check("pprof", pprof);
  if (!profile) {
    return;
  }
  CHECK(profile->at("types") ==
        boost::json::parse(R"([["alloc_objects","count"],["alloc_space","bytes"],)"
                           R"(["inuse_objects","count"],["inuse_space","bytes"]])"));
  CHECK(profile->at("default") == "inuse_space");
  const auto samples = [&](const std::string& first, const std::string& second) {
    return boost::json::parse(R"([{"stack":[)" + main + R"(],"values":)" + first +
                              R"(,"labels":{}},{"stack":[)" + main + "," + deep + R"(],"values":)" +
                              second + R"(,"labels":{}}])");
  };
  CHECK(profile->at("samples") == samples("[1,1048576,1,1048576]", "[2,5242880,1,3145728]"));
  CHECK(python_check("pprof", at_end)->at("samples") ==
        samples("[1,1048576,0,0]", "[2,5242880,1,2097152]"));
  CHECK(python_check("speedscope", speedscope)->at("profiles") ==
        boost::json::parse(
            R"({"device 0: live at the peak":[{"stack":[)" + main +
            R"(],"bytes":1048576},{"stack":[)" + main + "," + deep +
            R"(],"bytes":3145728}],"device 0: allocated in the whole run":[{"stack":[)" + main +
            R"(],"bytes":1048576},{"stack":[)" + main + "," + deep + R"(],"bytes":5242880}]})"));
}

TEST_CASE("export: a profile of a recording holds what its folded stacks hold", "[cli][export]") {
  const TempDir folder;
  const std::string file = kRecorded + "gpt2-fp32-emptycache.hwt.xz";
  const std::string pprof = (folder / "run.pb").string();
  const std::string folded = (folder / "run.folded").string();
  succeed("export " + file + " --output " + pprof);
  succeed("export " + file + " --output " + folded);
  std::uint64_t lines = 0;
  std::istringstream text(read_file(folded));
  for (std::string line; std::getline(text, line);) {
    lines += std::stoull(line.substr(line.rfind(' ')));
  }
  if (const auto profile = python_check("pprof", pprof)) {
    std::uint64_t live = 0;
    for (const auto& sample : profile->at("samples").as_array()) {
      live += sample.at("values").at(3).to_number<std::uint64_t>();
    }
    CHECK(live == lines);
    CHECK(live == number(replay_of(file), "peak", "requested_bytes"));
  }
}

TEST_CASE("export: a database holds the operations of csv", "[cli][export]") {
  const TempDir folder;
  const std::string trace = (folder / "hand.trace").string();
  const std::string database = (folder / "run.sqlite").string();
  write_file(trace, kByHand);
  succeed("export " + trace + " --output " + database);
  const auto by_hand = python_check("sqlite", database);
  if (!by_hand) {
    return;
  }
  CHECK(
      by_hand->at("by_site") ==
      boost::json::parse(R"([["model.py:42 forward; deep",5242880],["main.py:8 main",1048576]])"));
  CHECK(by_hand->at("frames") ==
        boost::json::parse(R"([[1,0,"main","main.py",8],[2,0,"forward; deep","model.py",42],)"
                           R"([2,1,"main","main.py",8]])"));
  CHECK(by_hand->at("actions") == boost::json::parse(R"({"alloc":3,"free":2})"));

  const std::string file = kRecorded + "gpt2-fp32-varlen-capacity2700.hwt.xz";
  succeed("export " + file + " --output " + database);
  const auto recorded = python_check("sqlite", database);
  const auto expected = replay_of(file);
  for (const auto* key : {"reserved", "allocated", "requested"}) {
    CAPTURE(key);
    CHECK(number(*recorded, "peak", key) == number(expected, "peak", std::string(key) + "_bytes"));
  }
  CHECK(number(*recorded, "actions", "oom") == number(expected, "counts", "ooms"));
}

TEST_CASE("export: what cannot be written is refused, and nothing is left behind",
          "[cli][export]") {
  const TempDir folder;
  const std::string file = kRecorded + "gpt2-fp32-emptycache.hwt.xz";
  CHECK_THAT(run_line("export " + file).err, Contains("--output"));
  CHECK_THAT(run_line("export " + file + " --output x.abc").err,
             Contains("unknown file extension"));
  CHECK_THAT(run_line("export " + file + " --to svg --output x").err, Contains("unknown format"));
  CHECK_THAT(run_line("export " + file + " --at end --output x.csv").err, Contains("--at"));
  write_file(folder / "broken.pickle", "\x80\x04}");
  const CommandRun broken = run_line("export " + (folder / "broken.pickle").string() +
                                     " --output " + (folder / "out.pickle").string());
  CHECK(broken.code == ExitCode::bad_input);
  CHECK(folder.file_count() == 1);
}

TEST_CASE("redact: no name survives, and the figures are the same", "[cli][redact]") {
  const TempDir folder;
  const std::string trace = (folder / "secret.trace").string();
  write_file(trace,
             "conf \nframe 0 8 /home/alice/secretproject/main.py\ttrain_gpt9\n"
             "frame 1 42 /usr/lib/torch/nn/linear.py\tlinear_forward\nstack 0 1 0\n"
             "step 1\nphase warmup_of_alice\nop secret_op\na weights_of_bob 3145728 0 @0\n");
  const std::string original = (folder / "secret.pickle").string();
  succeed("export " + trace + " --output " + original);
  for (const std::string& input : {trace, original}) {
    for (const bool keep : {false, true}) {
      const std::string ending = input.substr(input.rfind('.'));
      const std::string output = (folder / ("clean" + ending)).string();
      succeed("redact " + input + " " + output + (keep ? " --keep-torch" : ""));
      const std::string bytes = read_file(output);
      for (const std::string word :
           {"alice", "secret", "train_gpt9", "main.py", "weights", "warmup", "/usr/lib"}) {
        CAPTURE(input, keep, word);
        CHECK(bytes.find(word) == std::string::npos);
      }
      CHECK((bytes.find("torch/nn/linear.py") != std::string::npos) == keep);
      CHECK((bytes.find("linear_forward") != std::string::npos) == keep);
      CHECK(bytes.find("file1.py") != std::string::npos);
      CHECK(replay_of(output).at("peak") == replay_of(input).at("peak"));
    }
  }
}

TEST_CASE("redact: structure stays, decision by decision", "[cli][redact]") {
  const TempDir folder;
  const std::string file = kRecorded + "gpt2-fp32-varlen-capacity2700.hwt.xz";
  const std::string clean = (folder / "clean.hwt").string();
  succeed("redact " + file + " " + clean);
  CHECK(replay_of(clean + " --decisions") == replay_of(file + " --decisions"));
  CHECK(read_file(clean).find("transformers") == std::string::npos);
  CHECK(run_line("redact " + file + " " + (folder / "x.trace").string()).code == ExitCode::usage);
}

TEST_CASE("scan: the rank stands in the name", "[cli][scan]") {
  CHECK(rank_in("rank0.pickle") == 0);
  CHECK(rank_in("snapshot_rank_3.pickle") == 3);
  CHECK(rank_in("Rank-012.pickle.xz") == 12);
  CHECK(rank_in("mem_r12.pickle") == 12);
  CHECK(rank_in("crank5.pickle") == std::nullopt);
  CHECK(rank_in("error5.pickle") == std::nullopt);
  CHECK(rank_in("snapshot.pickle") == std::nullopt);
}

// Median 100, absolute deviations 0 0 1 1 2 80: MAD 1; 0.6745 * 80 > 3.5, 0.6745 * 2 is not.
TEST_CASE("scan: an outlier lies far off in units of the median deviation", "[cli][scan]") {
  Scan scan;
  for (const std::uint64_t peak : {100U, 100U, 99U, 101U, 102U, 180U}) {
    ScanRow row;
    row.peak.reserved = Bytes{peak};
    row.peak.allocated = Bytes{50};
    scan.rows.push_back(row);
  }
  ScanRow broken;
  broken.error = "damaged";
  scan.rows.push_back(broken);
  compare_rows(scan);
  for (std::size_t i = 0; i < scan.rows.size(); ++i) {
    CAPTURE(i);
    CHECK(scan.rows[i].is_reserved_outlier == (i == 5));
    CHECK_FALSE(scan.rows[i].is_allocated_outlier);
  }
  REQUIRE(scan.reserved);
  CHECK(scan.reserved->highest_row == 5);
  CHECK(scan.reserved->imbalance() == Approx(180.0 * 6 / 682 - 1));
}

// More than half are 1000, so MAD is 0. 1009 is less than 1 % off. Of twelve, three (a quarter) may
// share a figure that is far off, four are another kind of rank.
TEST_CASE("scan: where most ranks are alike, a figure that few share is an outlier",
          "[cli][scan]") {
  const auto [peaks, outliers] = GENERATE(
      std::pair{std::vector<int>{1000, 1000, 1000, 1020}, std::vector<int>{1020}},
      std::pair{
          std::vector<int>{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1009, 2000, 1100, 980, 1000},
          std::vector<int>{2000, 1100, 980}},
      std::pair{
          std::vector<int>{1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1100, 1105, 1100},
          std::vector<int>{1100, 1105, 1100}},
      std::pair{
          std::vector<int>{1000, 1000, 1000, 1000, 1000, 1000, 1000, 5000, 1100, 1105, 1100, 1100},
          std::vector<int>{5000}});
  Scan scan;
  for (const int peak : peaks) {
    ScanRow row;
    row.peak.reserved = Bytes{static_cast<std::uint64_t>(peak)};
    scan.rows.push_back(row);
  }
  compare_rows(scan);
  std::vector<int> marked;
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    if (scan.rows[i].is_reserved_outlier) {
      marked.push_back(peaks[i]);
    }
  }
  CHECK(marked == outliers);
}

TEST_CASE("scan: a damaged file is a row and an error", "[cli][scan]") {
  const TempDir folder;
  CHECK(run_line("scan " + folder.path().string()).code == ExitCode::bad_input);
  write_file(folder / "rank1.pickle", "not a pickle");
  CHECK(run_line("scan " + folder.path().string()).code == ExitCode::bad_input);
  std::filesystem::copy_file(kRecorded + "gpt2-fp32-emptycache.hwt.xz", folder / "rank0.hwt.xz");
  const CommandRun scanned = run_line("scan --format json " + folder.path().string());
  CHECK(scanned.code == ExitCode::bad_input);
  const auto rows = boost::json::parse(scanned.out).at("rows").as_array();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].at("rank").to_number<int>() == 0);
  CHECK(rows[0].at("fidelity").to_number<double>() == 1);
  CHECK(rows[1].as_object().contains("error"));
}

TEST_CASE("export: every real snapshot comes out as it went in", "[cli][export][slow]") {
  if (!std::filesystem::exists(kShared + "/snapshots")) {
    WARN("skipped: shared data absent");
    return;
  }
  const TempDir folder;
  for (const auto& entry : std::filesystem::directory_iterator(kShared + "/snapshots")) {
    if (entry.path().extension() != ".xz") {
      continue;
    }
    CAPTURE(entry.path().filename().string());
    const std::string file = entry.path().string();
    const std::string copy = (folder / "copy.pickle").string();
    const std::string other = (folder / "other.pickle").string();
    succeed("export " + file + " --output " + copy);
    auto before = json_of("replay " + file).at("devices").as_array();
    auto after = json_of("replay " + copy).at("devices").as_array();
    REQUIRE(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      before[i].as_object().erase("torch_detected");  // `history` lists are not written any more
      after[i].as_object().erase("torch_detected");
      CHECK(before[i] == after[i]);
    }
    const std::string options = " --alloc-conf expandable_segments:True";
    succeed("export " + file + options + " --output " + other);
    before = json_of("replay " + file + options).at("devices").as_array();
    after = json_of("replay " + other).at("devices").as_array();
    REQUIRE(before.size() == after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      CHECK(before[i].at("peak") == after[i].at("peak"));
      CHECK(before[i].at("final") == after[i].at("final"));
      check_faithful(after[i].as_object());
    }
  }
}

}  // namespace export_command_test
