// Commands in shards: the same bytes as the whole run, for each command.
#include <filesystem>

#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;
using Catch::Contains;

namespace {

/// Runs `line` in three shards and merges them.
CommandRun merged(const std::string& line, const std::string& format = "") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("shards-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  Arguments parts{"merge"};
  for (const char* shard : {"1", "2", "3"}) {
    parts.push_back(folder / shard);
    const CommandRun part = run_line(line + " --shard " + shard + "/3 --output " + parts.back());
    CHECK(part.err.empty());
    CHECK(part.out.empty());
    CHECK(part.code == ExitCode::ok);
  }
  if (!format.empty()) {
    parts.push_back("--format=" + format);
  }
  CommandRun result = run(parts);
  std::filesystem::remove_all(folder);
  return result;
}

void check_shards(const std::string& line) {
  INFO(line);
  const CommandRun whole = run_line(line);
  const CommandRun result = merged(line);
  CHECK(result.out == whole.out);
  CHECK(result.err == whole.err);
  CHECK(result.code == whole.code);
  CHECK(!whole.out.empty());
}

}  // namespace

TEST_CASE("shards of scan, validate and simulate merge to the whole's bytes") {
  const std::string recorded = HIGHWATER_RECORDED_DATA;
  check_shards("scan " + recorded + "/zero3-ds19");
  check_shards("scan " + recorded + "/zero3-ds19 --format json");
  check_shards("validate --recorded " + recorded + "/zero3-ds19 --format json");
  check_shards("validate --only model=gpt2 --format json");
  check_shards(
      "simulate --model gpt2 --batch 2 --seq 128 --dp 2 --pp 2 --rank all --dp-kind ddp "
      "--format json");
}

TEST_CASE("shards of chance merge to the whole's bytes") {
  const std::string line = "chance --model gpt2 --batch 2 --lengths uniform:16..64 --steps 3";
  check_shards(line + " --runs 7 --set expandable_segments=False,True --set batch=1,3");
  check_shards(line + " --runs 2 --format json");
}

TEST_CASE("shards of plan merge to the whole's bytes") {
  const std::string line = "plan --model gpt2 --seq 128 --gpus 2 --global-batch 8";
  check_shards(line + " --gpu 8GiB --rows 3 --format json");
  check_shards(line + " --gpu 3GiB --only DDP");                  // something is given up
  check_shards(line + " --gpu 1200MiB --only DDP --allow full");  // nothing fits
}

TEST_CASE("shards of sweep merge to the whole's bytes") {
  const std::string file = "sweep " + std::string(HIGHWATER_RECORDED_DATA) +
                           "/zero3-ds19/gpt2-zero3x4-nvme-param-ds19.hwt.xz"
                           " --set expandable_segments=False,True --set capacity=100MiB,30GiB";
  const std::string plan =
      "sweep --model gpt2 --seq 64 --gpu 3GiB --set expandable_segments=False,True"
      " --set batch=1,64 --set tp=1,5 --set max_split_size_mb=20,64";
  for (const char* format : {" --format json", " --format jsonl", " --format csv", " --top 3"}) {
    check_shards(file + format);
    check_shards(plan + format);
  }
}

TEST_CASE("parts that hold everything are printed in any format") {
  const std::string folder = std::string(HIGHWATER_RECORDED_DATA) + "/zero3-ds19";
  const std::string file = folder + "/gpt2-zero3x4-nvme-param-ds19.hwt.xz";
  for (const std::string& line :
       {"scan " + folder, "sweep " + file + " --top 2 --set capacity=100MiB,1GiB,30GiB",
        std::string("simulate --model gpt2 --seq 128 --dp 2 --pp 2 --rank all --dp-kind ddp")}) {
    INFO(line);
    CHECK(merged(line + " --format json", "table").out == run_line(line).out);
    CHECK(merged(line + " --format=json", "markdown").out ==
          run_line(line + " --format markdown").out);
    CHECK(merged(line + " --format csv", "json").out == run_line(line + " --format json").out);
    CHECK(merged(line, "table").out == run_line(line).out);
    CHECK_THAT(merged(line, "json").err, Contains("run the shards with --format json"));
  }
  CHECK_THAT(merged("scan " + folder + " --format json", "xml").err, Contains("xml"));
}

TEST_CASE("options of a fleet that do not go together are refused") {
  const std::string scan = std::string("scan ") + HIGHWATER_RECORDED_DATA + "/zero3-ds19";
  CHECK_THAT(run_line(scan + " --shard 1/2").err, Contains("--shard needs --output PART"));
  CHECK_THAT(run_line(scan + " --output x").err, Contains("add --shard i/N"));
  CHECK_THAT(run_line(scan + " --resume").err, Contains("--resume needs --journal"));
  CHECK_THAT(run_line(scan + " --shard 3/2 --output x").err, Contains("--shard 3/2: not a part"));
  CHECK_THAT(run_line(scan + " --stall-after soon").err, Contains("not a number of seconds"));
  CHECK_THAT(run_line("validate - --shard 1/2 --output x").err, Contains("use a file"));
  CHECK_THAT(
      run_line("simulate --model gpt2 --find-batch --gpu h100-80 --shard 1/2 --output x").err,
      Contains("--find-batch: is not an option that a part may carry"));
  CHECK_THAT(run_line("merge").err, Contains("merge takes the parts"));
}
