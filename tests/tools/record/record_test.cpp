// highwater record without a PyTorch: a shell script plays the recorded process, and tells what the
// recorder would tell.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/record/child_process.hpp"
#include "tools/record/record_environment.hpp"
#include "tools/record/record_files.hpp"
#include "tools/record/record_outcome.hpp"
#include "traces/error.hpp"
#include "workloads/facts/facts.hpp"

namespace highwater {
namespace {

using Catch::Contains;
using test::TempDir;

/// A snapshot that a script can hand over as its recording.
std::string make_snapshot(const TempDir& folder) {
  const std::string path = folder / "made.pickle";
  const CommandRun made =
      run_line("export --model gpt2 --batch 1 --seq 16 --steps 1 --output " + path);
  REQUIRE(made.code == ExitCode::ok);
  return path;
}

std::string tell(const std::string& line) {
  return "echo '" + line + "' >> \"$HIGHWATER_RECORD_STATUS\"\n";
}

const std::string kLoaded =
    R"({"event": "loaded", "release": "2.6.0+cu124", "cuda": "12.4", "place": "/p/torch", "tested": true})";
const std::string kStarted = R"({"event": "started", "output": "o"})";

std::string written(const std::string& output, const std::string& ended,
                    const std::string& error = "null") {
  return R"({"event": "written", "output": ")" + output + R"(", "ended": ")" + ended +
         R"(", "error": )" + error +
         R"(, "entries": 42, "steps": 3, "torch": "2.6.0+cu124", "launches": 7, "values_read": 5, )" +
         R"("not_modelled": {"cusparseSpMM": 2}})";
}

/// The run of `script` by sh under `record`.
CommandRun record(const TempDir& folder, const std::string& script, Arguments options = {}) {
  const std::string path = folder / "script.sh";
  test::write_file(path, script);
  Arguments arguments{"record", "--output", folder / "out.pickle"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.insert(arguments.end(), {"--", "sh", path});
  return run(arguments);
}

RecordOutcome outcome_of(const TempDir& folder, const std::string& lines, ProcessEnd end = {}) {
  test::write_file(folder / "status", lines);
  return read_record_outcome(folder / "status", end);
}

}  // namespace

TEST_CASE("record: guests are given the facts that the program has", "[record]") {
  const auto content_of = [](std::span<const EmbeddedFile> files, std::string_view path) {
    const auto found = std::ranges::find(files, path, &EmbeddedFile::path);
    REQUIRE(found != files.end());
    return found->content;
  };
  CHECK(content_of(record_files(), "python/highwater_engine/facts/optimizers.json") ==
        content_of(embedded_facts(), "optimizers.json"));
}

TEST_CASE("record: a recording is reported like a replay, with what to do next") {
  const TempDir folder;
  const std::string snapshot = make_snapshot(folder);
  const std::string output = folder / "out.pickle";
  const CommandRun result =
      record(folder, tell(kLoaded) + tell(kStarted) + "cp " + snapshot +
                         " \"$HIGHWATER_RECORD_OUTPUT\"\n" + tell(written(output, "exit")));
  CHECK(result.code == ExitCode::ok);
  CHECK_THAT(result.out, Contains(output + ": 42 entries, 3 optimizer steps, 7 kernel launches; "
                                           "PyTorch 2.6.0+cu124"));
  CHECK(result.out.starts_with("FITS in a100-80 (NVIDIA A100 80GB, 79.15 GiB): peak reserved "));
  CHECK_THAT(result.out, Contains("cusparseSpMM (2)"));
  CHECK_THAT(result.out, Contains("peak reserved"));
  CHECK_THAT(result.out, Contains("highwater explain  " + output));
}

TEST_CASE("record: JSON is the replay's, and nothing else goes to standard output") {
  const TempDir folder;
  const std::string snapshot = make_snapshot(folder);
  const std::string output = folder / "out.pickle";
  const CommandRun result =
      record(folder,
             tell(kLoaded) + tell(kStarted) + "cp " + snapshot + " \"$HIGHWATER_RECORD_OUTPUT\"\n" +
                 tell(written(output, "exit")),
             {"--format", "json"});
  CHECK(result.code == ExitCode::ok);
  CHECK(result.out.starts_with("{\"schema\":\"highwater.replay/1\""));
}

TEST_CASE("record: a script that fails leaves its recording, and exit code 3") {
  const TempDir folder;
  const std::string snapshot = make_snapshot(folder);
  const CommandRun result =
      record(folder,
             tell(kLoaded) + tell(kStarted) + "cp " + snapshot + " \"$HIGHWATER_RECORD_OUTPUT\"\n" +
                 tell(written(folder / "out.pickle", "error", R"("ValueError: no")")) + "exit 1\n");
  CHECK(result.code == ExitCode::bad_input);
  CHECK_THAT(result.out, Contains("the script ended with ValueError: no"));
  CHECK_THAT(result.out, Contains("it had read 5 values from the device"));
}

TEST_CASE("record: a crash leaves its recording, and exit code 3") {
  const TempDir folder;
  const std::string snapshot = make_snapshot(folder);
  const CommandRun result =
      record(folder, tell(kLoaded) + tell(kStarted) + "cp " + snapshot +
                         " \"$HIGHWATER_RECORD_OUTPUT\"\n" +
                         tell(written(folder / "out.pickle", "crash")) + "kill -SEGV $$\n");
  CHECK(result.code == ExitCode::bad_input);
  CHECK(result.out.starts_with("As far as it ran: FITS in a100-80"));
  CHECK_THAT(result.out, Contains("crashed: it was killed by signal 11"));
}

TEST_CASE("record: running out of memory is a result") {
  const TempDir folder;
  const std::string snapshot = make_snapshot(folder);
  const CommandRun result = record(
      folder,
      tell(kLoaded) + tell(kStarted) + "cp " + snapshot + " \"$HIGHWATER_RECORD_OUTPUT\"\n" +
          tell(written(folder / "out.pickle", "oom", R"("OutOfMemoryError: CUDA")")) + "exit 1\n");
  CHECK(result.code == ExitCode::ok);
}

TEST_CASE("record: a stopped run counts as neither a failure nor a full answer") {
  const TempDir folder;
  const std::string snapshot = make_snapshot(folder);
  const std::string ended = GENERATE(as<std::string>{}, "interrupted", "terminated");
  const CommandRun result =
      record(folder, "cp " + snapshot + " \"$HIGHWATER_RECORD_OUTPUT\"\n" +
                         tell(written(folder / "out.pickle", ended)) + "kill -TERM $$\n");
  CHECK(result.code == ExitCode::ok);
  CHECK(result.out.starts_with("As far as it ran: FITS"));
  CHECK_THAT(result.out, Contains("note: the script was " + ended));
}

TEST_CASE("record: a status that no exception explains is a failure") {
  const TempDir folder;
  const std::string snapshot = make_snapshot(folder);
  const CommandRun result =
      record(folder, "cp " + snapshot + " \"$HIGHWATER_RECORD_OUTPUT\"\n" +
                         tell(written(folder / "out.pickle", "exit")) + "exit 2\n");
  CHECK(result.code == ExitCode::bad_input);
  CHECK(result.out.starts_with("As far as it ran: FITS"));
  CHECK_THAT(result.out, Contains("note: the command ended with status 2"));
}

TEST_CASE("record: of several snapshots, the one with the name that was asked for is reported") {
  const TempDir folder;
  const std::string snapshot = make_snapshot(folder);
  const CommandRun result = record(folder, "cp " + snapshot + " \"$HIGHWATER_RECORD_OUTPUT\"\n" +
                                               tell(written(folder / "out-7.pickle", "exit")) +
                                               tell(written(folder / "out.pickle", "exit")));
  const std::string out = folder / "out.pickle";
  CHECK(result.code == ExitCode::ok);
  CHECK_THAT(result.out, Contains("highwater explain  " + out));
}

TEST_CASE("record: an output that cannot be written is refused before the command runs") {
  const TempDir folder;
  std::filesystem::create_directory(folder / "folder");
  const std::string ran = folder / "ran";
  for (const auto& [output, complaint] : std::vector<std::pair<std::string, std::string>>{
           {folder / "folder", "is a directory"},
           {folder / "missing/out.pickle", "cannot be created"},
           {"/dev/null", "not a regular file"},
           {"-", "not a regular file"},
           {folder / "out.pickle.gz", "use a plain name or .xz"}}) {
    const CommandRun result = run({"record", "--output", output, "--", "touch", ran});
    INFO(output << ": " << result.err);
    CHECK(result.code == ExitCode::usage);
    CHECK_THAT(result.err, Contains(complaint));
    CHECK_FALSE(std::filesystem::exists(ran));
  }
  CHECK(std::filesystem::is_character_file("/dev/null"));
  CHECK_FALSE(std::filesystem::exists(folder / "out.pickle.gz"));
}

TEST_CASE("record: why there is no recording") {
  const TempDir folder;
  SECTION("no torch") {
    const CommandRun result = record(folder, "exit 5\n");
    CHECK(result.code == ExitCode::bad_input);
    CHECK_THAT(result.err, Contains("sh: the command ended with status 5 and imported no torch"));
  }
  SECTION("torch without CUDA calls") {
    const CommandRun result = record(folder, tell(kLoaded));
    CHECK(result.code == ExitCode::bad_input);
    CHECK_THAT(result.err, Contains("never used CUDA"));
  }
  SECTION("CUDA without allocations") {
    const CommandRun result =
        record(folder, tell(kLoaded) + tell(kStarted) +
                           tell(R"({"event": "nothing", "ended": "error"})") + "exit 1\n");
    CHECK(result.code == ExitCode::bad_input);
    CHECK_THAT(result.err,
               Contains("ended with status 1 before it allocated anything on the device; see"));
  }
  SECTION("a mistake before any CUDA call") {
    const CommandRun result = record(folder, tell(kLoaded) + "exit 1\n");
    CHECK(result.code == ExitCode::bad_input);
    CHECK_THAT(result.err, Contains("ended with status 1 before it used CUDA"));
  }
  SECTION("a build that cannot work") {
    const CommandRun result =
        record(folder, tell(R"({"event": "refused", "place": "/p/torch", "reason": "no CUDA"})"));
    CHECK(result.code == ExitCode::bad_input);
    CHECK_THAT(result.err, Contains("/p/torch: no CUDA"));
  }
  SECTION("killed before it could write") {
    const CommandRun result = record(folder, tell(kLoaded) + tell(kStarted) + "kill -9 $$\n");
    CHECK(result.code == ExitCode::bad_input);
    CHECK_THAT(result.err, Contains("was killed by signal 9"));
  }
  SECTION("no such program") {
    const CommandRun result = run({"record", "--", "no-such-program-here"});
    CHECK(result.code == ExitCode::bad_input);
    CHECK_THAT(result.err, Contains("no-such-program-here: cannot be run"));
  }
}

TEST_CASE("record: mistakes on the command line are named together") {
  for (const auto& [line, complaint] : std::vector<std::pair<std::string, std::string>>{
           {"record python3 train.py", "--"},
           {"record --gpu h100-80", "missing command"},
           {"record --gpu h100-80 --", "missing command"},
           {"record --gpu h100-80 python3 x.py", "write highwater record ... -- python3 x.py"},
           {"record --finish-step python3 x.py", "write highwater record ... -- python3 x.py"},
           {"record --moe-load busiest:0.5 -- true", "use a number of 1 or more"},
           {"record --moe-load uneven -- true", "a file with a number for each expert"},
           {"record --gpu h100-81 -- true", "did you mean h100-80"},
           {"record --rank 8 --world 8 -- true", "the number of ranks, 8 (--world)"},
           {"record --rank 1 -- true", "the number of ranks, 1 (--world)"},
           {"record --stacks cpp -- true", "none, python or all"},
           {"record --answers nonzero -- true", "nonzero=COUNT"},
           {"record --answers item=1,loss=2 -- true", "nonzero=COUNT"},
           {"record --answers nonzero=-1 -- true", "nonzero=COUNT"},
           {"record --answers nonzero=inf -- true", "nonzero=COUNT"},
           {"record --steps -1 -- true", "--steps -1: not in range; use a whole number"},
           {"record --event-lag 1.5 -- true", "--event-lag 1.5: not in range; use a whole number"},
           {"record --world 99999999999 -- true", "from 0 to 4294967295"},
           {"record --capacity 80XB -- true", "80XB"}}) {
    const CommandRun result = run_line(line);
    INFO(line << ": " << result.err);
    CHECK(result.code == ExitCode::usage);
    CHECK_THAT(result.err, Contains(complaint));
  }
}

TEST_CASE("record: the environment describes device, ranks and recording") {
  RecordRequest request;
  request.gpu = *find_gpu("h100-80");
  request.world = 16;
  request.rank = 9;
  request.steps = 3;
  const Environment environment = record_environment(
      request, "/files", "/status", {{"PYTHONPATH", "/own"}, {"CUDA_VISIBLE_DEVICES", ""}});
  CHECK_THAT(environment.at("FAKE_CUDA_GPU"), Contains("major=9") &&
                                                  Contains("multiprocessors=132") &&
                                                  Contains("memory=84943044608"));
  CHECK(environment.at("FAKE_CUDA_DEVICES") == "8");
  CHECK(environment.at("RANK") == "9");
  CHECK(environment.at("LOCAL_RANK") == "1");
  CHECK(environment.at("PYTHONPATH") == "/files/python:/own");
  CHECK(environment.at("HIGHWATER_RECORD_STEPS") == "3");
  CHECK_FALSE(environment.contains("CUDA_VISIBLE_DEVICES"));
  CHECK_FALSE(environment.contains("FAKE_CUDA_CAPACITY"));
  // What the context takes is not the allocator's; a capacity is all the allocator's.
  CHECK(std::stoull(environment.at("FAKE_CUDA_CONTEXT")) > 100'000'000);
  request.capacity = Bytes{1'000'000};
  const Environment limited = record_environment(request, "/files", "/status", {});
  CHECK(limited.at("FAKE_CUDA_CAPACITY") == "1000000");
  CHECK_FALSE(limited.contains("FAKE_CUDA_CONTEXT"));
}

TEST_CASE("record: half a line that a killed process left is passed over") {
  const TempDir folder;
  const RecordOutcome outcome =
      outcome_of(folder, kLoaded + "\n" + kStarted + "\n{\"event\": \"wri");
  CHECK(outcome.torch_seen);
  CHECK(outcome.cuda_used);
  CHECK(outcome.snapshots.empty());
}

TEST_CASE("record: notes name untested releases and loops that wait") {
  const TempDir folder;
  const RecordOutcome outcome = outcome_of(
      folder, R"({"event": "loaded", "release": "2.99.0", "tested": false})"
              "\n"
              R"({"event": "waiting", "where": "train.py:12", "reads": 900, "seconds": 20})"
              "\n");
  const std::vector<std::string> notes = record_notes(outcome);
  REQUIRE(notes.size() == 2);
  CHECK_THAT(notes[0], Contains("PyTorch 2.99.0 is newer"));
  CHECK_THAT(notes[1], Contains("train.py:12"));
}

TEST_CASE("record: notes say whose workspaces of cuDNN were counted, and what is not known") {
  CHECK(cudnn_notes({}).empty());
  CHECK(cudnn_notes({.plans = 3, .library = "/l/libcudnn.so.9", .version = 92600}).empty());
  const auto absent = cudnn_notes({.not_counted = 1});
  REQUIRE(absent.size() == 1);
  CHECK_THAT(absent[0],
             Contains("not counted (1 plan, 0 bytes each)") && Contains("--cudnn FOLDER"));
  const auto old =
      cudnn_notes({.not_counted = 2, .library = "/l/libcudnn.so.9", .problem = "too old"});
  REQUIRE(old.size() == 1);
  CHECK_THAT(old[0], Contains("/l/libcudnn.so.9: too old"));
  const auto other = cudnn_notes({.plans = 3,
                                  .library = "/l/libcudnn.so.9",
                                  .version = 91002,
                                  .is_other = true,
                                  .is_benchmarked = true,
                                  .choices = 1,
                                  .smallest = 0,
                                  .largest = 1 << 20});
  REQUIRE(other.size() == 2);
  CHECK_THAT(other[0], Contains("cuDNN 9.10.2 in /l/libcudnn.so.9"));
  CHECK_THAT(other[1], Contains("1 operation could") && Contains("1.00 MiB"));
}

TEST_CASE("record: a snapshot's line has what became of cuDNN's plans") {
  const TempDir folder;
  const RecordOutcome outcome = outcome_of(
      folder,
      R"({"event": "written", "output": "o", "cudnn": {"plans": 4, "plans_not_counted": 2, "version": "?"}})"
      "\n");
  REQUIRE(outcome.snapshots.size() == 1);
  CHECK(outcome.snapshots[0].cudnn.plans == 4);
  CHECK(outcome.snapshots[0].cudnn.version == 0);
  CHECK_THAT(record_notes(outcome).front(), Contains("cuDNN's workspaces are not counted"));
}

TEST_CASE("record: the binary carries the recorder and the libraries for two CUDA releases") {
  std::filesystem::path folder;
  {
    const UnpackedRecordFiles files;
    folder = files.folder();
    CHECK(std::filesystem::exists(folder / "python/sitecustomize.py"));
    CHECK(std::filesystem::exists(folder / "python/highwater_record/recorder.py"));
    CHECK(std::filesystem::exists(folder / "fakecuda/cuda12/libcudart.so.12"));
    CHECK(std::filesystem::exists(folder / "fakecuda/cuda13/libcudart.so.13"));
    CHECK(std::filesystem::exists(folder / "fakecuda/cuda13/libcuda.so.1"));
    CHECK(access((folder / "fakecuda/cudnn/cudnn_library").c_str(), X_OK) == 0);
    CHECK(test::read_file(folder / "fakecuda/cuda12/libcudart.so.12")
              .starts_with("\x7f"
                           "ELF"));
  }
  CHECK_FALSE(std::filesystem::exists(folder));
}

TEST_CASE("record: what a killed program has left goes, what another one uses stays") {
  const UnpackedRecordFiles others;
  const auto abandoned = others.folder().parent_path() / "highwater-record-killed";
  std::filesystem::create_directory(abandoned);
  test::write_file(abandoned / "lock", "");
  const UnpackedRecordFiles files;
  CHECK_FALSE(std::filesystem::exists(abandoned));
  CHECK(std::filesystem::exists(others.folder() / "python"));
  CHECK(std::filesystem::exists(files.folder() / "python"));
}

TEST_CASE("record: a temporary folder that cannot serve is named") {
  const TempDir folder;
  std::filesystem::create_directory(folder / "a:b");
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  for (const auto& [place, complaint] : std::vector<std::pair<std::string, std::string>>{
           {folder / "missing", "set TMPDIR"},
           {folder / "a:b", "a folder without a colon in its name"}}) {
    setenv("TMPDIR", place.c_str(), 1);
    const CommandRun result = record(folder, "exit 0\n");
    before == nullptr ? unsetenv("TMPDIR") : setenv("TMPDIR", kept.c_str(), 1);
    INFO(place << ": " << result.err);
    CHECK(result.code == ExitCode::bad_input);
    CHECK_THAT(result.err, Contains(complaint));
  }
}

TEST_CASE("child process: a hang-up that nohup has us ignore is the child's to ignore, too") {
  const auto before = std::signal(SIGHUP, SIG_IGN);
  const ProcessEnd end =
      run_command_line({"sh", "-c", "kill -HUP $PPID $$; exit 5"}, {{"PATH", "/usr/bin:/bin"}},
                       ChildOutput::to_error_output);
  std::signal(SIGHUP, before);
  CHECK(end.signal == 0);
  CHECK(end.status == 5);
}

TEST_CASE("child process: status, signal and environment") {
  const auto run_shell = [](const std::string& script) {
    return run_command_line({"sh", "-c", script}, {{"GIVEN", "here"}, {"PATH", "/usr/bin:/bin"}},
                            ChildOutput::to_error_output);
  };
  CHECK(run_shell("exit 7").status == 7);
  CHECK(run_shell("kill -TERM $$").signal == SIGTERM);
  CHECK(run_shell("test \"$GIVEN\" = here").status == 0);
  CHECK(run_shell("test -z \"$HOME\"").status == 0);
  // What we ignore while waiting is the child's again.
  CHECK(run_shell("kill -INT $$; exit 0").signal == SIGINT);
}

}  // namespace highwater
