// Command line: what goes wrong is said in one line with place, reason and remedy, and the exit
// code tells its kind.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <list>
#include <new>
#include <span>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/text/standard_streams.hpp"
#include "traces/error.hpp"
#include "traces/formats/bytes/byte_sink.hpp"

using namespace highwater;
using Catch::Contains;

namespace errors_test {

namespace {

std::string write(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

#ifndef HIGHWATER_SANITIZED
/// Leaves this process about 3 MB that it can still allocate.
void use_up_memory() {
  const rlimit none{.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
  ::setrlimit(RLIMIT_AS, &none);
  constexpr std::size_t kBlock = 16384;
  constexpr std::size_t kLeft = 200;
  static std::list<std::string> blocks;
  try {
    while (true) {
      blocks.emplace_back(kBlock, ' ');
    }
  } catch (const std::bad_alloc&) {
    blocks.resize(blocks.size() - std::min(blocks.size(), kLeft));
  }
}
#endif

/// A network file that takes everything, and reports a full disk only when it is closed.
class FullInTheEnd : public MemorySink {
 public:
  void commit() override { throw Error("standard output: cannot be written: No space left"); }
};

const std::string kVectors = HIGHWATER_SOURCE "/tests/data/conformance";
const std::string kTrace = HIGHWATER_SOURCE "/tests/data/conformance/h07_oom_retry.trace";

}  // namespace

TEST_CASE("cli: wrong usage exits with 2 and says what was meant", "[cli][errors]") {
  const auto [arguments, message] = GENERATE(table<Arguments, std::string>({
      {Arguments{}, "missing command"},
      {{"repaly", "x"}, "'repaly': unknown command; did you mean 'replay'?"},
      {{"replay"}, "takes exactly one FILE"},
      {{"replay", kTrace, "--capcity", "1G"}, "did you mean --capacity?"},
      {{"simulate", "--nosuch", "3"}, "--nosuch: unknown option of 'simulate'; see highwater"},
      {{"simulate", "--model", "llama-160m", "--framework", "colossalai-gemini", "--dp", "2",
        "--tp", "2", "--checkpoint", "full", "--checkpoint-impl", "nonreentrant", "--engine",
        "model"},
       "use --checkpoint-impl reentrant, or omit --tp"},
      {{"simulate", "--per-device-train-batch-sise", "3"},
       "did you mean --per-device-train-batch-size?"},
      {{"simulate", "--model", "gpt2", "--torch_compile_mode", "reduce-overhead"},
       "record the script for another (highwater record)"},
      {{"plan", "--fp8-format", "hybrid"}, "--float8 is torchao's"},
      {{"replay", kTrace, "--compile"}, "--compile: unknown option of 'replay'; see highwater"},
      {{"replay", kTrace, "--capacity", "20EiB"}, "--capacity 20EiB: not a size below 16 EiB"},
      {{"replay", kTrace, "--alloc-conf", "max_split_size_mb:x"},
       "max_split_size_mb: 'x' is not a number in range (PyTorch 2.6's own message: stoi)"},
      {{"simulate", "--model", "gpt2", "--bf16=maybe"}, "--bf16 maybe: use true or false"},
      {{"simulate", "--model", "gpt2", "--precision", "bf16", "--fp16"},
       "--precision and --fp16 both set --precision; use one of them"},
      {{"replay", kTrace, "--capacity", "80 Gigs"}, "--capacity 80 Gigs: not a size"},
      {{"replay", kTrace, "--format", "yaml"}, "--format yaml: unknown format"},
      {{"replay", kTrace, "--torch", "1.0"}, "unknown release; use one of 2.6, 2.8"},
      {{"replay", kTrace, "--device", "3"}, "contains no data for this device"},
      {{"replay", kTrace, "--memory-fraction", "2"}, "not a number from 0 to 1"},
      {{"replay", kTrace, "--memory-fraction", "x"}, "memory-fraction"},
      {{"replay", kTrace, "--memory-fraction", "0.5", "--memory-limit", "1G"}, "one of them"},
      {{"replay", kTrace, "--alloc-conf", "max_splt_size_mb:64"},
       "Unrecognized CachingAllocator option: max_splt_size_mb; did you mean max_split_size_mb?"},
      {{"replay", kTrace, "--alloc-conf", "max_split_size_mb:1"}, "too small, must be > 20"},
      {{"convert", "a"}, "convert takes IN and OUT"},
      {{"convert", kTrace, "b.json"}, "b.json: unknown file extension"},
      {{"replay", kTrace, "--decisions", "--format", "csv"},
       "--decisions cannot be written as csv"},
      {{"replay", kTrace, "--alloc-conf", "large_segment_size_mb:40", "--torch", "2.6"},
       "large_segment_size_mb; known to --torch 2.11"},
      {{"conformance"}, "takes one DIR"},
      {{"conformance", kVectors, "--format", "csv"}, "only --format table and json"},
      {{"conformance", kVectors, "--format", "markdown"}, "only --format table and json"},
      {{"info"}, "takes one or more FILEs"},
      {{"info", kTrace, "--top=-1"}, "--top -1: not a number"},
      {{"info", kTrace, "--max-expansion", "0"}, "expected a whole number from 1, or none"},
      {{"explain", kTrace, "--max-expansion", "x"}, "--max-expansion x: expected a whole number"},
      {{"help", "replay", "export"}, "help replay export: takes one COMMAND; omit the rest"},
  }));
  CAPTURE(arguments);
  const CommandRun result = run(arguments);
  CHECK(result.code == ExitCode::usage);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, Contains(message));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

TEST_CASE("cli: a file that outgrows its compressed size is refused unless that is allowed",
          "[cli][errors]") {
  const test::TempDir folder;
  const std::string path = (folder.path() / "bomb.trace.gz").string();
  const std::string comment = "#" + std::string((1U << 20U) - 2, ' ') + "\n";
  const auto sink = open_sink(path);
  sink->write(std::as_bytes(std::span(std::string_view("a 0 512 0\n"))));
  for (int megabyte = 0; megabyte < 100; ++megabyte) {
    sink->write(std::as_bytes(std::span(comment)));
  }
  sink->commit();
  const CommandRun refused = run({"info", path});
  CHECK(refused.code == ExitCode::bad_input);
  CHECK_THAT(refused.err, Contains("bomb.trace.gz: before byte ") &&
                              Contains("more than 250 times as many") &&
                              Contains("--max-expansion none"));
  CHECK(run({"info", path, "--max-expansion", "none"}).code == ExitCode::ok);
}

TEST_CASE("cli: bad input exits with 3 and names the file", "[cli][errors]") {
  const test::TempDir folder;
  const auto file = [&](const std::string& name, const std::string& content) {
    return write(folder.path() / name, content);
  };
  const std::string pickle_start("\x80\x04\x95", 3);
  const auto [path, message] = std::vector<std::pair<std::string, std::string>>{
      {(folder.path() / "missing.pickle").string(), "missing.pickle"},
      {folder.path().string(), "directory"},
      {file("empty.pickle", ""), "empty"},
      {file("json.pickle", "{\"segments\": ["), "JSON"},
      {file("zip.pickle", std::string("PK\x03\x04", 4) + "rest"), "zip"},
      {file("truncated.pickle", pickle_start), "byte"},
      {file("text.trace", "conf \na 1 x 0\n"), "line 2"},
      {file("conf.trace", "conf max_split_size_mb:1\n"), "too small"},
      {file("pool.trace", "conf \na 1 512 0\npool_end 1\n"), "operation 1: pool 1,0: the pool"},
      {file("broken.xz", std::string("\xfd"
                                     "7zXZ\0garbage",
                                     13)),
       "broken.xz"},
  }[static_cast<std::size_t>(GENERATE(range(0, 10)))];
  CAPTURE(path);
  for (const std::string name : {"replay", "info"}) {
    if (name == "info" && (path.ends_with("conf.trace") || path.ends_with("pool.trace"))) {
      continue;  // only the replay needs the settings and carries out the operations
    }
    const CommandRun result = run({name, path});
    CHECK(result.code == ExitCode::bad_input);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, Contains(path) && Contains(message));
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
  }
}

TEST_CASE("cli: control characters of a file name are not printed as such", "[cli][errors]") {
  const CommandRun result = run({"info", "no\x1b[2J\nsuch"});
  CHECK(result.code == ExitCode::bad_input);
  CHECK_THAT(result.err, Contains("no\\x1B[2J\\x0Asuch"));
  CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
}

TEST_CASE("cli: an output that cannot be written is an error, of --help too", "[cli][errors]") {
  for (const Arguments& arguments : {Arguments{"--help"}, Arguments{"info", kTrace}}) {
    std::ostringstream out;
    std::ostringstream err;
    out.setstate(std::ios::badbit);
    CHECK(run_program(arguments, out, err) == ExitCode::bad_input);
    CHECK_THAT(err.str(), Contains("standard output: cannot be written; check for a full disk"));
  }
}

TEST_CASE("cli: an output that is lost only at its end is an error", "[cli][errors]") {
  StandardOutput out(std::make_unique<FullInTheEnd>());
  std::ostringstream err;
  const auto finish = [&] { out.finish(); };
  CHECK(run_program({"--version"}, out, err, finish) == ExitCode::bad_input);
  CHECK_THAT(err.str(), Contains("standard output: cannot be written: No space left"));
}

TEST_CASE("cli: help of a command and the version by other names", "[cli]") {
  CHECK(run({"help", "replay"}).out == run({"replay", "--help"}).out);
  CHECK(run({"help", "replay"}).code == ExitCode::ok);
  CHECK(run({"help", "simulate", "--help-all"}).out == run({"simulate", "--help-all"}).out);
  CHECK(run({"help"}).out == run({"--help"}).out);
  CHECK(run({"help", "repaly"}).code == ExitCode::usage);
  CHECK(run({"-V"}).out == run({"--version"}).out);
}

TEST_CASE("cli: a scan with an unreadable file is bad input, counted on the last line",
          "[cli][errors]") {
  const test::TempDir folder;
  write(folder / "rank0.trace", "conf \na 1 512 0\n");
  CHECK(run({"scan", folder.path().string()}).code == ExitCode::ok);
  write(folder / "rank1.trace", "conf \na 1 x 0\n");
  const CommandRun result = run({"scan", folder.path().string()});
  CHECK(result.code == ExitCode::bad_input);
  CHECK_THAT(result.out, Catch::EndsWith("2 rows, 1 unreadable, 0 outliers\n"));
}

#ifndef HIGHWATER_SANITIZED  // whose shadow needs more address space than any limit leaves
TEST_CASE("cli: a file that needs more memory than there is is bad input", "[cli][errors]") {
  const test::TempDir folder;
  const std::string path = (folder / "large.trace").string();
  std::ofstream file(path);
  file << "conf \n";
  for (int i = 0; i < 400'000; ++i) {
    file << "a " << i << " 512 0\n";
  }
  file.close();
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    use_up_memory();
    const CommandRun result = run({"info", path});
    const bool is_told = result.err.find("needs more memory to read") != std::string::npos;
    ::_exit(is_told ? static_cast<int>(result.code) : 99);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == static_cast<int>(ExitCode::bad_input));
}
#endif

TEST_CASE("cli: a GPU can be a size, of a file and of a plan", "[cli]") {
  CHECK_THAT(run({"explain", kTrace, "--gpu", "24GiB"}).out, Contains("trust"));
  CHECK(run({"explain", kTrace, "--gpu", "24"}).code == ExitCode::usage);
  const CommandRun plan =
      run({"simulate", "--model", "gpt2", "--seq", "64", "--steps", "1", "--gpu", "24GiB"});
  CHECK_THAT(plan.out, Catch::StartsWith("FITS in 24GiB (any GPU of 24GiB, computed as a100-80, "
                                         "24.00 GiB)"));
}

TEST_CASE("cli: budgets exit with 1 after the report", "[cli][errors]") {
  CHECK(run({"replay", kTrace, "--fail-on-oom"}).code == ExitCode::exceeded);
  CHECK(run({"replay", kTrace, "--max-reserved", "1M"}).code == ExitCode::exceeded);
  CHECK(run({"replay", kTrace, "--max-reserved", "1T"}).code == ExitCode::ok);
  CHECK_FALSE(run({"replay", kTrace, "--fail-on-oom"}).out.empty());
}

TEST_CASE("cli: a word that is too long for a name of a file is no internal error",
          "[cli][errors]") {
  const std::string word(300, 'a');
  const CommandRun lengths =
      run({"chance", "--model", "gpt2", "--lengths", word, "--gpu", "h100-80"});
  CHECK(lengths.code == ExitCode::usage);
  CHECK_THAT(lengths.err, Contains("neither a file with a length on each line"));
  const CommandRun model = run({"simulate", "--model", word + ".py:make", "--gpu", "h100-80"});
  CHECK(model.code == ExitCode::bad_input);
  CHECK_THAT(model.err, Contains("no such file"));
}

}  // namespace errors_test
