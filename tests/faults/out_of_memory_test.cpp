// Whenever memory runs out, a command ends with a message and exit code 4 (3 where it is said of a
// file), and leaves its output whole or not there: it never crashes.
//
// Each try is a process of its own, in which one allocation fails, or all from one on. Which ones
// are tried is spread over all that the command makes.
#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/faults/failing_memory.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/program/program.hpp"

using namespace highwater;
using namespace highwater::test;

namespace {

namespace fs = std::filesystem;

/// What became of a process that carried out a command.
struct Ending {
  bool is_signal = false;
  int code = 0;  ///< of the exit, or the signal
  std::uint64_t allocations = 0;
};

Arguments words_of(std::string line, const fs::path& folder) {
  Arguments words;
  std::istringstream stream(line);
  for (std::string word; stream >> word;) {
    if (const std::size_t at = word.find('@'); at != std::string::npos) {
      word = word.substr(0, at) + (folder / word.substr(at + 1)).string();
    }
    words.push_back(word);
  }
  return words;
}

/// In the child: tells the parent how many allocations there were.
[[noreturn]] void run_child(const Arguments& arguments, std::uint64_t n, Failing failing,
                            int parent) {
  std::ostringstream out;
  std::ostringstream err;
  fail_allocation(n, failing);
  const ExitCode code = run_program(arguments, out, err);
  const std::uint64_t allocations = counted_allocations();
  fail_allocation(0, Failing::once);
  const bool is_silent =
      code == ExitCode::internal && failing == Failing::once && err.str().empty();
  static_cast<void>(::write(parent, &allocations, sizeof allocations));
  ::_exit(is_silent ? 99 : static_cast<int>(code));
}

Ending ending_of(const Arguments& arguments, std::uint64_t n, Failing failing) {
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::close(pipe[0]);
    ::signal(SIGABRT, SIG_DFL);  // not Catch2's, which would report a test of its own
    ::signal(SIGSEGV, SIG_DFL);
    ::alarm(60);  // waits for ever
    run_child(arguments, n, failing, pipe[1]);
  }
  ::close(pipe[1]);
  Ending ending;
  if (::read(pipe[0], &ending.allocations, sizeof ending.allocations) < 0) {
    ending.allocations = 0;
  }
  ::close(pipe[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  ending.is_signal = WIFSIGNALED(status);
  ending.code = ending.is_signal ? WTERMSIG(status) : WEXITSTATUS(status);
  return ending;
}

void write_inputs(const TempDir& folder) {
  write_file(
      folder / "gpt2.json",
      R"({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 2, "vocab_size": 100})");
  write_file(
      folder / "llama.json",
      R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "vocab_size": 100,
                 "intermediate_size": 128, "num_attention_heads": 2, "num_key_value_heads": 2})");
  fs::create_directory(folder / "ranks");
  for (const char* rank : {"ranks/rank0.trace", "ranks/rank1.trace"}) {
    write_file(folder / rank, "step 0\na 1 1048576 0\nr 1 7\nf 1\nstep 1\na 2 2097152 0\n");
  }
}

/// The files of `folder` with what they hold.
std::vector<std::pair<std::string, std::string>> contents_of(const TempDir& folder) {
  std::vector<std::pair<std::string, std::string>> contents;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder.path())) {
    if (entry.is_regular_file()) {
      contents.emplace_back(entry.path().filename().string(), read_file(entry.path()));
    }
  }
  std::ranges::sort(contents);
  return contents;
}

/// Numbers from 1 to `most`, spread evenly, each somewhere in its part.
std::vector<std::uint64_t> spread(std::uint64_t most, std::uint64_t count) {
  std::vector<std::uint64_t> numbers;
  std::uint64_t state = most;
  for (std::uint64_t i = 0; i < std::min(count, most); ++i) {
    const std::uint64_t first = most * i / count;
    const std::uint64_t size = std::max<std::uint64_t>(most * (i + 1) / count - first, 1);
    state = state * 6364136223846793005U + 1442695040888963407U;
    numbers.push_back(1 + first + (state >> 33U) % size);
  }
  return numbers;
}

struct Tries {
  std::uint64_t once = 0;
  std::uint64_t from_then = 0;
};

void run_out_of_memory(const std::string& line, Tries tries) {
  const TempDir folder;
  write_inputs(folder);
  const Arguments arguments = words_of(line, folder.path());
  const auto before = contents_of(folder);
  const Ending whole = ending_of(arguments, 0, Failing::once);
  CAPTURE(line);
  REQUIRE(whole.code == 0);
  const auto after = contents_of(folder);
  for (const auto& [failing, count] :
       {std::pair(Failing::once, tries.once), {Failing::from_then, tries.from_then}}) {
    for (const std::uint64_t n : spread(whole.allocations, count)) {
      fs::remove(folder / "new.hwt");
      fs::remove(folder / "new.dot");
      const Ending ending = ending_of(arguments, n, failing);
      CAPTURE(n, whole.allocations, failing == Failing::once, ending.code);
      CHECK_FALSE(ending.is_signal);
      CHECK((ending.code == 0 || ending.code == 3 || ending.code == 4));
      for (const auto& file : contents_of(folder)) {
        CAPTURE(file.first);
        CHECK((std::ranges::count(before, file) == 1 || std::ranges::count(after, file) == 1));
      }
    }
  }
}

}  // namespace

TEST_CASE("out of memory: simulated strategies", "[cli][memory]") {
  const std::string options = GENERATE(
      as<std::string>{}, "--model @gpt2.json --checkpoint full --optimizer-impl foreach",
      "--model @llama.json --dp 2 --dp-kind ddp", "--model @llama.json --dp 2 --dp-kind fsdp2",
      "--model @llama.json --dp 2 --dp-kind fsdp1", "--model @llama.json --dp 2 --dp-kind zero2",
      "--model @gpt2.json --dp 2 --dp-kind zero3 --offload optimizer",
      "--model @llama.json --lora 4 --checkpoint selective",
      "--model @llama.json --tp 2 --framework megatron",
      "--model @gpt2.json --offload activations");
  run_out_of_memory("simulate --steps 1 --batch 1 --seq 16 --engine model " + options, {60, 12});
}

TEST_CASE("out of memory: commands", "[cli][memory]") {
  const std::string line = GENERATE(
      as<std::string>{},
      "generate --model @gpt2.json --steps 1 --seq 16 --output @new.hwt --graph @new.dot",
      "replay @ranks/rank0.trace --format json",
      "scan @ranks/rank0.trace",  // libstdc++ walks folders in functions that must not throw
      "explain @ranks/rank1.trace", "report @ranks/rank0.trace --output @new.hwt",
      "sweep @ranks/rank0.trace --set expandable_segments=False,True",
      "export @ranks/rank0.trace --to snapshot --output @new.hwt",
      "check @ranks/rank0.trace --max-reserved 1GiB", "convert @ranks/rank0.trace @new.hwt",
      "plan --model @gpt2.json --seq 16 --gpus 2 --gpu 1GiB --formulas-only");
  run_out_of_memory(line, {60, 12});
}
