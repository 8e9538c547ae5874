// Parts that somebody has made up: what they ask for is refused, and nothing that their results
// hold does harm.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "sim/replay/parallel.hpp"
#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"
#include "tools/commands/commands.hpp"
#include "tools/fleet/piece_file.hpp"
#include "tools/fleet/run_identity.hpp"
#include "tools/options/part_words.hpp"
#include "traces/program_ban.hpp"
#include "workloads/plan/options/option_table.hpp"

using namespace highwater;
using Catch::Contains;
using test::TempDir;

namespace {

constexpr const char* kScanned = HIGHWATER_RECORDED_DATA "/zero3-ds19";

std::string version() {
  const std::string line = run({"--version"}).out;  // "highwater 0.2.0"
  const std::size_t begin = line.find(' ') + 1;
  return line.substr(begin, line.find('\n') - begin);
}

/// A whole part, the only one of its run, without results.
std::string part_of(const Arguments& command) {
  const Arguments rest(command.begin() + 1, command.end());
  return header_line({.version = version(),
                      .arguments = command,
                      .inputs = check_of_inputs(rest),
                      .shard = Shard{1, 1}}) +
         end_bytes(0);
}

/// What `merge` says of a part that asks for `command`.
CommandRun merged(const TempDir& folder, const Arguments& command) {
  test::write_file(folder / "part", part_of(command));
  return run({"merge", folder / "part"});
}

/// While it lives, python3 is a program that leaves a mark.
class MarkedPython {
 public:
  explicit MarkedPython(const TempDir& folder) : path_(std::getenv("PATH")) {
    std::filesystem::create_directory(folder / "bin");
    for (const std::string& program :
         {(folder / "bin" / "python3").string(), (folder / "program").string()}) {
      test::write_file(program, fmt::format("#!/bin/sh\ntouch {}\n", (folder / "ran").string()));
      std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    }
    ::setenv("PATH", fmt::format("{}:{}", (folder / "bin").string(), path_).c_str(), 1);
  }

  MarkedPython(const MarkedPython&) = delete;
  MarkedPython& operator=(const MarkedPython&) = delete;

  ~MarkedPython() { ::setenv("PATH", path_.c_str(), 1); }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("merge runs only the commands that are allowed") {
  const TempDir folder;
  std::vector<std::string_view> allowed;
  for (const Command& command : commands()) {
    if (command.merging == Merging::allowed) {
      allowed.push_back(command.name);
      continue;
    }
    INFO(command.name);
    const CommandRun result = merged(folder, {std::string(command.name), "--help"});
    CHECK(result.code == ExitCode::bad_input);
    CHECK_THAT(result.err, Contains("part: command: is '" + std::string(command.name) +
                                    "', which merge does not run"));
    CHECK(result.out.empty());
  }
  CHECK(allowed ==
        std::vector<std::string_view>{"simulate", "plan", "chance", "sweep", "validate", "scan"});
  CHECK(merged(folder, {"help", "record"}).code == ExitCode::bad_input);
  CHECK(merged(folder, {"--version"}).code == ExitCode::bad_input);
}

TEST_CASE("a part cannot make merge start a program") {
  struct Asked {
    Arguments command;
    std::string why;
  };

  const TempDir folder;
  const MarkedPython python(folder);
  const std::string program = folder / "program";
  const std::string grid = folder / "grid.json";
  test::write_file(grid,
                   fmt::format(R"({{"cases": [{{"model": "gpt2", "python": "{}"}}]}})", program));
  const std::string wild = folder / "wild.json";
  test::write_file(
      wild, fmt::format(R"({{"cases": [{{"model": "{}"}}]}})", (folder / "config.json").string()));
  test::write_file(folder / "model.py", "def make():\n    pass\n");
  test::write_file(folder / "config.json", R"({"model_type": "unheard-of", "hidden_size": 8})");
  const std::string engine = "which starts Python";
  const std::string named = "names a program to run";
  const std::string banned = "needs to start python3; merge starts no program";
  for (const auto& [command, why] : {
           Asked{{"record", "--gpu", "t4", "--", program}, "which merge does not run for a part"},
           {{"simulate", "--model", "gpt2", "--engine", "torch", "--python", program}, engine},
           {{"simulate", "--model", "gpt2", "--engine=both"}, engine},
           {{"simulate", "--model", "gpt2", "--python=" + program}, named},
           {{"simulate", "--model", "gpt2", "--torch", "auto"}, "the release that is installed"},
           {{"simulate", "--model", folder / "model.py:make", "--gpu", "h100-80"},
            "Python code to run"},
           {{"simulate", "--model", folder / "config.json", "--gpu", "h100-80"}, banned},
           {{"sweep", "--model", "gpt2", "--set", "engine=torch"}, "can start Python"},
           {{"sweep", "--model", "gpt2", "--set", "python=" + program}, "can start Python"},
           {{"validate", grid}, named},
           {{"validate", wild}, banned},
           {{"validate", "--recorded", kScanned, "--engine", "torch"}, engine},
           {{"chance", "--model", "gpt2", "--lengths", "uniform:16..64", "--python", program},
            named},
           {{"plan", "--model", "gpt2", "--gpu", "h100-80", "--python", program}, named},
           {{"plan", "--for", "batch", "--model", "gpt2", "--gpu", "h100-80"},
            "which merge does not run for a part"},
       }) {
    const CommandRun result = merged(folder, command);
    INFO(fmt::format("{}", fmt::join(command, " ")));
    CHECK(result.code == ExitCode::bad_input);
    CHECK_THAT(result.err, Contains(why));
    CHECK(!std::filesystem::exists(folder / "ran"));
  }
}

TEST_CASE("a ban on programs holds in the threads that its thread starts") {
  const std::string file = "part";
  std::atomic<int> refused = 0;
  const auto try_all = [&] {
    for_each_index(8, [&](std::size_t) {
      try {
        require_programs("python3");
      } catch (const InputError&) {
        ++refused;
      }
    });
  };
  {
    const ProgramBan ban(&file);
    try_all();
  }
  CHECK(refused == 8);
  try_all();
  CHECK(refused == 8);
}

TEST_CASE("a part cannot make merge write a file or read a device") {
  const TempDir folder;
  const std::string victim = folder / "victim";
  test::write_file(victim, "precious");
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  for (const Arguments& command : {
           Arguments{"export", kScanned, "--to", "csv", "--output", victim},
           {"scan", kScanned, "--html", victim},
           {"scan", kScanned, "--sqlite=" + victim},
           {"scan", kScanned, "--shard", "1/1", "--output", victim},
           {"scan", kScanned, "--journal", victim, "--resume"},
           {"scan", kScanned, "--piece-times", victim},
           {"plan", "--for", "frontier", "--model", "gpt2", "--html", victim},
           {"sweep", pipe},
           {"sweep", "-"},
           {"simulate", "--model", pipe},
           {"validate", "/dev/zero"},
           {"sweep", "--model", "gpt2", "--edit", "beside:" + pipe, "--set", "batch=1"},
           {"simulate", "--model", "gpt2", "--find-batch", "--gpu", "h100-80"},
           {"simulate", "--from", HIGHWATER_TEST_DATA "/fuzz/program/made"},
       }) {
    const CommandRun result = merged(folder, command);
    INFO(fmt::format("{}\n{}", fmt::join(command, " "), result.err));
    CHECK(result.code == ExitCode::bad_input);
    CHECK(test::read_file(victim) == "precious");
  }
  CHECK(folder.file_count() == 3);
}

TEST_CASE("every option of these commands is listed as a value, or refused") {
  const TempDir folder;
  const auto contains = [](const auto& list, std::string_view name) {
    return std::ranges::find(list, name) != list.end();
  };
  for (const Command& command : commands()) {
    if (command.merging == Merging::refused) {
      continue;
    }
    const std::vector<OptionSummary> options = options_of(command);
    CHECK(options.size() >= 10);
    for (const OptionSummary& option : options) {
      const std::string& name = option.name;
      if (contains(options_of_values(), name) || find_option(name) != nullptr) {
        continue;
      }
      INFO(command.name << " --" << name << ": a value, or does it name a file or a program?");
      const CommandRun result = merged(
          folder, {std::string(command.name), "--" + name + (option.has_value ? "=1/1" : "")});
      CHECK(result.code == ExitCode::bad_input);
      CHECK(result.out.empty());
    }
  }
  for (const std::string_view name : options_of_place()) {
    CHECK(!contains(options_of_values(), name));
  }
}

TEST_CASE("lines of a part are JSON, or no part of the answer") {
  const TempDir folder;
  const std::string part = folder / "part";
  REQUIRE(
      run_line(fmt::format("sweep --model gpt2 --seq 64 --set batch=1,2 --format jsonl --shard 1/1 "
                           "--output {}",
                           part))
          .code == ExitCode::ok);
  const PieceFile file = read_piece_file(part);
  const std::string bytes = test::read_file(part);
  std::string forged = header_line(file.run);
  for (const PieceRecord& record : file.records) {
    std::string result = bytes.substr(record.offset, record.length);
    if (const std::size_t brace = result.find('{'); brace != std::string::npos) {
      result[brace + 1] = '\x1b';
    }
    forged += record_bytes(record.job, record.number, result);
  }
  CHECK(run({"merge", part}).code == ExitCode::ok);
  test::write_file(part, forged + end_bytes(file.records.size()));
  const CommandRun result = run({"merge", part});
  CHECK(result.code == ExitCode::bad_input);
  CHECK(result.out.empty());
}

TEST_CASE("a shard starts no program, since merge would have to") {
  const TempDir folder;
  const MarkedPython python(folder);
  test::write_file(folder / "config.json", R"({"model_type": "unheard-of", "hidden_size": 8})");
  const CommandRun result = run({"simulate", "--model", folder / "config.json", "--shard", "1/2",
                                 "--output", folder / "part"});
  CHECK(result.code == ExitCode::bad_input);
  CHECK_THAT(result.err, Contains("--shard: needs to start python3"));
  CHECK(!std::filesystem::exists(folder / "ran"));
}

TEST_CASE("merge does not compute missing results, and checks the numbers in a part") {
  const TempDir folder;
  CHECK_THAT(merged(folder, {"scan", kScanned}).err, Contains("lacks the result of piece 1 of"));
  CHECK_THAT(
      merged(folder, {"sweep", "--model", "gpt2", "--format", "jsonl", "--set", "batch=1,2"}).err,
      Contains("lacks the result of piece 1 of 2"));
  for (const Shard shard : {Shard{0, 1}, {2, 1}, {1, 0}, {1, ~0ULL}, {~0ULL, ~0ULL}}) {
    test::write_file(
        folder / "part",
        header_line(
            {.version = version(), .arguments = {"scan", kScanned}, .inputs = "", .shard = shard}) +
            end_bytes(0));
    CHECK_THAT(run({"merge", folder / "part"}).err, Contains("holds no results of pieces"));
  }
  test::write_file(folder / "part", header_line({.version = version(),
                                                 .arguments = {"scan", kScanned},
                                                 .inputs = check_of_inputs({kScanned}),
                                                 .shard = Shard{1, 1}}) +
                                        record_bytes(0xfffffffe, ~0ULL, "x") + end_bytes(1));
  CHECK_THAT(run({"merge", folder / "part"}).err, Contains("lacks the result of piece 1 of"));
}

TEST_CASE("a shard whose parts merge would refuse is refused") {
  const TempDir folder;
  const std::string shard = fmt::format(" --shard 1/2 --output {}", (folder / "part").string());
  CHECK_THAT(run_line("simulate --model gpt2 --engine torch" + shard).err,
             Contains("--engine: names the engine torch, which starts Python"));
  CHECK_THAT(
      run_line(fmt::format("scan {} --html x.html{}", kScanned, shard)).err,
      Contains("--html does not apply to a shard, which writes only its part; give it to merge"));
  CHECK(folder.file_count() == 0);
}

TEST_CASE("merge writes the files of a scan that it is asked for itself") {
  const TempDir folder;
  const std::string scan = fmt::format("scan {}", kScanned);
  REQUIRE(run_line(fmt::format("{} --html {}", scan, (folder / "whole.html").string())).code ==
          ExitCode::ok);
  REQUIRE(
      run_line(fmt::format("{} --shard 1/1 --output {}", scan, (folder / "part").string())).code ==
      ExitCode::ok);
  CHECK(run({"merge", folder / "part", "--html", folder / "merged.html", "--sqlite",
             folder / "merged.db"})
            .code == ExitCode::ok);
  CHECK(test::read_file(folder / "merged.html") == test::read_file(folder / "whole.html"));
  CHECK(std::filesystem::file_size(folder / "merged.db") > 0);
}

namespace {

/// The part of `line` as one shard, with some bytes of its results changed and its checks mended.
class ForgedParts {
 public:
  ForgedParts(const TempDir& folder, const std::string& line) : path_(folder / "part") {
    REQUIRE(run_line(fmt::format("{} --shard 1/1 --output {}", line, path_)).code == ExitCode::ok);
    bytes_ = test::read_file(path_);
    file_ = read_piece_file(path_);
  }

  CommandRun merged_once(std::mt19937& random) const {
    std::string bytes = header_line(file_.run);
    for (const PieceRecord& record : file_.records) {
      std::string result = bytes_.substr(record.offset, record.length);
      change(result, random);
      bytes += record_bytes(record.job, record.number, result);
    }
    test::write_file(path_, bytes + end_bytes(file_.records.size()));
    return run({"merge", path_});
  }

 private:
  static void change(std::string& result, std::mt19937& random) {
    constexpr std::array<unsigned char, 6> kValues{0, 1, 2, 0x7f, 0x80, 0xff};
    for (int changes = static_cast<int>(random() % 3); changes > 0 && !result.empty(); --changes) {
      result[random() % result.size()] = static_cast<char>(kValues[random() % kValues.size()]);
    }
    if (random() % 8 == 0) {
      result.resize(random() % (result.size() + 1));
    }
  }

  std::string path_;
  std::string bytes_;
  PieceFile file_;
};

}  // namespace

TEST_CASE("forged results lead to an answer or to an error, never to a crash") {
  const TempDir folder;
  std::mt19937 random(20261128);
  for (const std::string& line : {
           fmt::format("scan {}", kScanned),
           fmt::format("scan {} --format json", kScanned),
           std::string("simulate --model gpt2 --seq 64 --dp 2 --pp 2 --rank all --dp-kind ddp"),
           std::string("sweep --model gpt2 --seq 64 --gpu 3GiB --set batch=1,64 --format json"),
           std::string("sweep --model gpt2 --seq 64 --gpu 3GiB --set batch=1,64 --set tp=1,5"),
           std::string("validate --only model=gpt2"),
           fmt::format("validate --recorded {} --only *nvme*", kScanned),
           std::string("chance --model gpt2 --batch 2 --lengths uniform:16..64 --steps 3 --runs 3"),
           std::string("plan --model gpt2 --seq 128 --gpus 2 --global-batch 8 --gpu 8GiB --rows 2"),
       }) {
    INFO(line);
    const ForgedParts parts(folder, line);
    for (int i = 0; i < 25; ++i) {
      const CommandRun result = parts.merged_once(random);
      INFO(result.err);
      CHECK(result.code != ExitCode::internal);
      CHECK(result.code != ExitCode::usage);
    }
  }
}
