// Command line: whether a plan fits, what would make it fit, and the budgets that decide the exit
// code of `simulate`.
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "tests/tools/commands/simulated.hpp"

using namespace highwater;
using namespace highwater::test;
using Catch::Contains;
using Catch::StartsWith;

namespace simulate_fit_test {

TEST_CASE("simulate: without a device the demand is told, with one whether it fits",
          "[cli][simulate]") {
  const Object free = simulate_json("--model gpt2");
  CHECK(free.at("fits").is_null());
  CHECK(free.at("capacity_bytes").is_null());
  CHECK_FALSE(free.at("gpus_that_hold").as_array().empty());
  CHECK_THAT(simulate("--model gpt2").out, Contains("the smallest known GPU it fits on is"));

  const Object on_gpu = simulate_json("--model gpt2 --gpu v100-16");
  CHECK(on_gpu.at("fits").as_bool());
  CHECK(number(on_gpu.at("available_bytes")) ==
        number(on_gpu.at("capacity_bytes")) - number(on_gpu.at("outside_allocator").at("bytes")));

  const Object tight = simulate_json("--model gpt2 --gpu v100-16 --capacity 900MiB");
  CHECK_FALSE(tight.at("fits").as_bool());
  CHECK(number(tight.at("available_bytes")) == 900 * kMiB);
  CHECK(peak(tight, "reserved") <= 900 * kMiB);
  CHECK(tight.at("out_of_memory").is_object());
  CHECK(number(tight.at("counts").at("ooms")) == 1);
  CHECK_FALSE(tight.at("steps").as_array().back().at("complete").as_bool());
}

TEST_CASE("simulate: what does not fit is told what it needs, and that much serves",
          "[cli][simulate][long]") {
  const Object tight = simulate_json("--model gpt2 --capacity 900MiB");
  const std::int64_t needed = number(tight.at("needed_bytes"));
  const std::string options = "--model gpt2 --capacity ";
  CHECK(simulate_json(options + std::to_string(needed)).at("fits").as_bool());
  CHECK_FALSE(simulate_json(options + std::to_string(needed - 4 * kMiB)).at("fits").as_bool());
  CHECK_THAT(simulate("--model gpt2 --capacity 900MiB").out,
             StartsWith("DOES NOT FIT in a capacity of 900.00 MiB: the allocator needs ") &&
                 Contains(" and has 900.00 MiB; out of memory at step 0") &&
                 Contains("fits with --") && !Contains("try:"));
  CHECK(simulate_json("--model gpt2").at("needed_bytes").is_null());
}

TEST_CASE("simulate: remedies are what their own simulation says", "[cli][simulate][long]") {
  const std::string base = "simulate --model " HIGHWATER_TEST_DATA "/loops/llama.json --seq 512 ";
  for (const std::string capacity : {"800MiB", "600MiB", "450MiB"}) {
    const Object run = json_of(base + "--batch 4 --capacity " + capacity);
    CAPTURE(capacity);
    REQUIRE_FALSE(run.at("fits").as_bool());
    REQUIRE_FALSE(run.at("remedies").as_array().empty());
    for (const auto& remedy : run.at("remedies").as_array()) {
      const std::string options = boost::json::value_to<std::string>(remedy.at("options"));
      CAPTURE(options);
      const Object again = json_of(
          base + std::string(options.find("--batch") == std::string::npos ? "--batch 4 " : "") +
          "--capacity " + capacity + " " + options);
      CHECK(again.at("fits").as_bool());
      CHECK(peak(again, "reserved") == number(remedy.at("peak_reserved_bytes")));
    }
  }
}

TEST_CASE("simulate: no remedy asks for more than is needed", "[cli][simulate][long]") {
  const auto options = [](const std::string& capacity) {
    const Object run =
        json_of("simulate --model llama-160m --seq 512 --batch 4 --capacity " + capacity);
    return boost::json::value_to<std::string>(run.at("remedies").at(0).at("options"));
  };
  // A little less than it needs: what changes nothing suffices. Half of it: something has to give.
  const std::int64_t needed =
      number(json_of("simulate --model llama-160m --seq 512 --batch 4 --capacity 1GiB")
                 .at("needed_bytes"));
  CHECK_THAT(options(std::to_string(needed - 8 * kMiB)),
             !Contains("lora") && !Contains("8bit") && !Contains("checkpoint"));
  const std::string half = options(std::to_string(needed / 2));
  CHECK(half != options(std::to_string(needed - 8 * kMiB)));
  const Object hopeless = simulate_json("--model gpt2 --capacity 100MiB");
  CHECK(hopeless.at("remedies").as_array().empty());
  CHECK_FALSE(hopeless.at("nearest_remedy").at("fits").as_bool());
  const std::string out = simulate("--model gpt2 --capacity 100MiB").out;
  CHECK_THAT(out,
             Contains("No change of the plan makes it fit, not even all that go together: --") &&
                 Contains(" (limit 100.00 MiB)\n") && !Contains("Ways to make it fit"));
}

TEST_CASE("simulate: a plan that no option makes smaller is told so", "[cli][simulate]") {
  const std::string out =
      simulate(
          "--model gpt2 --mode eval --attention sdpa --precision bf16 --alloc-conf "
          "expandable_segments:True --capacity 100MiB")
          .out;
  CHECK_THAT(out, Contains("\nNo option that Highwater knows lowers the memory of this plan.\n") &&
                      !Contains("Ways to make it fit"));
}

TEST_CASE("simulate: a GPU that holds the plan unchanged is the last remedy", "[cli][simulate]") {
  const Object run =
      json_of("simulate --model gpt2 --batch 16 --seq 1024 --steps 2 --gpu rtx2080ti");
  const auto& remedies = run.at("remedies").as_array();
  REQUIRE_FALSE(remedies.empty());
  const std::string last = boost::json::value_to<std::string>(remedies.back().at("options"));
  CHECK_THAT(last, StartsWith("--gpu "));
  CHECK(json_of("simulate --model gpt2 --batch 16 --seq 1024 --steps 2 " + last)
            .at("fits")
            .as_bool());
}

TEST_CASE("simulate: a remedy of a file's plan is said in the file's own words",
          "[cli][simulate]") {
  const TempDir folder;
  const std::string file = folder / "train.yaml";
  write_file(file,
             "model_name_or_path: gpt2\nper_device_train_batch_size: 8\nblock_size: 512\n"
             "output_dir: out\n");
  const Object run = json_of("simulate --capacity 4GiB --from " + file);
  const auto& remedies = run.at("remedies").as_array();
  REQUIRE_FALSE(remedies.empty());
  std::string said;
  for (const auto& remedy : remedies) {
    for (const auto& change : remedy.at("own_changes").as_array()) {
      CHECK(boost::json::value_to<std::string>(change.at("place")) == file);
      said += boost::json::value_to<std::string>(change.at("text")) + "\n";
    }
  }
  CHECK_THAT(said, Contains("per_device_train_batch_size: 2, gradient_accumulation_steps: 4") &&
                       Contains("use_liger_kernel: true, gradient_checkpointing: true"));
}

TEST_CASE("simulate: a thin margin is called thin, with ways to gain headroom",
          "[cli][simulate][long]") {
  const std::string plan = "--model llama-160m --batch 4 --steps 2 --capacity ";
  const std::int64_t reserved =
      peak(simulate_json("--model llama-160m --batch 4 --steps 2"), "reserved");
  const std::string thin = plan + std::to_string(reserved + 8 * kMiB);
  const Object run = simulate_json(thin);
  REQUIRE(run.at("fits").as_bool());
  CHECK(run.at("is_margin_thin").as_bool());
  REQUIRE_FALSE(run.at("wider_margins").as_array().empty());
  for (const auto& remedy : run.at("wider_margins").as_array()) {
    CHECK(number(remedy.at("spare_bytes")) * 100 >= number(remedy.at("available_bytes")) * 3);
  }
  CHECK_THAT(simulate(thin).out, Contains("a thin margin (") && Contains("Ways to gain headroom"));
  const Object wide = simulate_json(plan + "40GiB");
  CHECK_FALSE(wide.at("is_margin_thin").as_bool());
  CHECK(wide.at("wider_margins").as_array().empty());
}

TEST_CASE("simulate: a memory limit and a fraction are the same limit", "[cli][simulate][long]") {
  const Object limit = simulate_json("--model gpt2 --capacity 4000MiB --memory-limit 1000MiB");
  const Object fraction = simulate_json("--model gpt2 --capacity 4000MiB --memory-fraction 0.25");
  CHECK_FALSE(limit.at("fits").as_bool());
  CHECK(limit.at("peak") == fraction.at("peak"));
}

TEST_CASE("simulate: budgets decide the exit code", "[cli][simulate][long]") {
  CHECK(simulate("--model gpt2 --capacity 900MiB").code == ExitCode::ok);
  CHECK(simulate("--model gpt2 --capacity 900MiB --fail-on-oom").code == ExitCode::exceeded);
  CHECK(simulate("--model gpt2 --max-reserved 900MiB").code == ExitCode::exceeded);
  CHECK(simulate("--model gpt2 --max-reserved 90GiB --fail-on-oom").code == ExitCode::ok);
  const CommandRun over = simulate("--model gpt2 --max-reserved 900MiB --format json");
  CHECK_THAT(over.err, StartsWith("highwater: peak reserved ") &&
                           Contains(" above --max-reserved 900.00 MiB; most is held by "));
  const boost::json::value budget = boost::json::parse(over.out).at("budget");
  CHECK_FALSE(budget.at("is_kept").as_bool());
  CHECK_THAT(over.err, Contains(boost::json::value_to<std::string>(budget.at("exceeded").at(0))));
  CHECK_THAT(simulate("--model gpt2 --capacity 900MiB --fail-on-oom").err,
             StartsWith("highwater: out of memory: "));
}

TEST_CASE("simulate: the batch that is found fits, the next does not", "[cli][simulate]") {
  const std::string options = "--model gpt2 --precision bf16 --steps 2 --capacity 2GiB";
  const Object found = simulate_json(options + " --find-batch");
  const std::int64_t largest = number(found.at("find_batch").at("largest"));
  REQUIRE(largest >= 1);
  CHECK(number(found.at("plan").at("batch")) == largest);
  CHECK(found.at("fits").as_bool());
  const Object same = simulate_json(options + " --batch " + std::to_string(largest));
  CHECK(same.at("peak") == found.at("peak"));
  CHECK_FALSE(
      simulate_json(options + " --batch " + std::to_string(largest + 1)).at("fits").as_bool());
  const CommandRun none = simulate("--model gpt2 --capacity 100MiB --find-batch");
  CHECK_THAT(none.out, Contains("largest batch that fits: none"));
}

TEST_CASE("simulate: ranks out of memory are compared by what they need", "[cli][simulate]") {
  const std::string plan =
      "simulate --framework megatron --transformer-impl local --model llama-160m --pp 2 "
      "--grad-accum 2 --seq 64 --steps 1";
  const auto sentence = [](const std::string& out) {
    const std::size_t begin = out.find("rank 0 of 2 (");
    return out.substr(begin, out.find(" times the mean", begin) - begin);
  };
  const std::string whole = sentence(run_line(plan).out);
  REQUIRE_FALSE(whole.empty());
  CHECK(sentence(run_line(plan + " --capacity 300MiB").out) == whole);
}

TEST_CASE("simulate: a GPU smaller than what is reserved without limit is explained",
          "[cli][simulate]") {
  const std::string out = run_line(
                              "simulate --torch 2.6 --framework torch --model gpt2 --batch 10 "
                              "--seq 300,512,200,450,380,512 --steps 6")
                              .out;
  CHECK_THAT(out,
             Contains("reserves 11.65 GiB with unlimited memory; the smallest known GPU it fits "
                      "on is rtx3060 (11.76 GiB), where cached memory has to be given back"));
}

TEST_CASE("simulate: only GPUs with kernels for the plan are named", "[cli][simulate]") {
  const auto out =
      run_line("simulate --model gpt2 --precision bf16 --attention sdpa-flash --format json").out;
  const std::size_t list = out.find("gpus_that_hold");
  REQUIRE(list != std::string::npos);
  const std::string gpus = out.substr(list, out.find(']', list) - list);
  CHECK_THAT(gpus, Contains("a100-80") && !Contains("v100") && !Contains("rtx2080ti"));
}

TEST_CASE("simulate: an older PyTorch names no GPU that is newer than it", "[cli][simulate]") {
  const auto out = run_line(
                       "simulate --torch 2.6 --model gpt2 --precision bf16 --attention sdpa-flash "
                       "--format json")
                       .out;
  CHECK_THAT(out, Contains("h100-80") && !Contains("b200"));
}

TEST_CASE("simulate: batches are searched in steps that a grid of ranks can share",
          "[cli][simulate]") {
  const test::TempDir folder;
  test::write_file(folder / "gpt.json",
                   R"({"model_type": "gpt2", "vocab_size": 50304, "n_layer": 2})");
  const auto root = boost::json::parse(
      run_line("simulate --model " + (folder / "gpt.json").string() +
               " --seq 256 --tp 8 --tp-kind 3d --gpu a100-80 --capacity 2GiB --find-batch "
               "--format json")
          .out);
  const auto& search = root.at("find_batch");
  const std::int64_t largest = search.at("largest").as_int64();
  CHECK(largest % 4 == 0);
  CHECK(search.at("smallest_failing").as_int64() == largest + 4);
  CHECK(root.at("plan").at("batch").as_int64() == largest);
}

TEST_CASE("simulate: TRL's loss reads the head's weight in backward whatever shards it",
          "[cli][simulate]") {
  const std::string kind = GENERATE("fsdp1", "fsdp2");
  const std::string model = GENERATE("gpt2", "llama-160m");  // a tied head, one of its own
  const std::string line =
      "simulate --framework trl-sft --dp 4 --batch 8 --steps 1 --format json --model " + model +
      " --dp-kind " + kind;
  const auto reads_all = boost::json::parse(run_line(line).out);
  const auto whole = boost::json::parse(run_line(line + " --loss hf").out);
  CAPTURE(model, kind);
  // Tiles of the logits take the place of all of them.
  CHECK(reads_all.at("peak").at("allocated_bytes").as_int64() <
        whole.at("peak").at("allocated_bytes").as_int64());
}

namespace {

/// `simulate --from LINE` with further options.
CommandRun from_line(const std::string& line, std::vector<std::string> options) {
  options.insert(options.begin(), {"simulate", "--from", line});
  return run(options);
}

Object from_line_json(const std::string& line, std::vector<std::string> options) {
  options.insert(options.end(), {"--format", "json"});
  const CommandRun result = from_line(line, options);
  REQUIRE(result.code == ExitCode::ok);
  return boost::json::parse(result.out).as_object();
}

const std::string kAdding =
    "torchrun run_clm.py --model_name_or_path gpt2 --block_size 64 --bf16 "
    "--neftune_noise_alpha 5";
const std::string kSaving = "trl sft --model_name_or_path gpt2 --max_length 64 --use_unsloth true";

}  // namespace

TEST_CASE("simulate: what fits without a key that adds memory is not known to fit",
          "[cli][simulate]") {
  CHECK_THAT(from_line(kAdding, {"--gpu", "a100-80"}).out,
             StartsWith("FITS without neftune_noise_alpha, which adds memory (with it: not "
                        "known), in a100-80"));
  const Object fitting = from_line_json(kAdding, {"--gpu", "a100-80"});
  CHECK(fitting.at("fits").is_null());
  CHECK(fitting.at("left_out").as_array().front().at("effect").as_string() == "adds memory");
  const CommandRun judged = from_line(kAdding, {"--gpu", "a100-80", "--fail-on-oom"});
  CHECK(judged.code == ExitCode::exceeded);
  CHECK_THAT(judged.err,
             Contains("not known whether it fits: simulated without neftune_noise_alpha"));
}

TEST_CASE("simulate: nothing that adds memory makes fit what does not", "[cli][simulate][long]") {
  CHECK_THAT(from_line(kAdding, {"--capacity", "500MiB"}).out, StartsWith("DOES NOT FIT in "));
  CHECK_FALSE(from_line_json(kAdding, {"--capacity", "500MiB"}).at("fits").as_bool());
}

TEST_CASE("simulate: what does not fit without a key that saves memory is not known not to",
          "[cli][simulate][long]") {
  CHECK_THAT(
      from_line(kSaving, {"--capacity", "500MiB"}).out,
      StartsWith("DOES NOT FIT without use_unsloth, which saves memory (with it: not known), "
                 "in "));
  CHECK(from_line_json(kSaving, {"--capacity", "500MiB"}).at("fits").is_null());
  CHECK(from_line_json(kSaving, {"--gpu", "a100-80"}).at("fits").as_bool());
}

TEST_CASE("simulate: a line of an old release is read as that, with both answers where two apply",
          "[cli][simulate]") {
  const CommandRun result =
      from_line("trl sft --model_name_or_path gpt2 --max_seq_length 64", {"--gpu", "a100-80"});
  CHECK_THAT(result.out,
             Contains("read as trl 0.19, transformers 4.54 and torch 2.7, the newest with "
                      "max_seq_length") &&
                 Contains("\nwith trl before 0.19: FITS in a100-80"));
}

}  // namespace simulate_fit_test
