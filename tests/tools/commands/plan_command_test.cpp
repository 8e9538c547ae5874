// Command line: `plan`. LLMem's Algorithm 1 gives what the paper's formulas give, mismatches with
// the paper are named, and the simulation finds the same batch as `simulate --find-batch`.
#include <algorithm>
#include <filesystem>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;
using Catch::Contains;

namespace plan_command_test {

namespace {

const std::string kLikeThePaper =
    " --seq 512 --precision fp16 --master-weights --checkpoint full --gpu v100-16 "
    "--capacity 16384MiB";

}  // namespace

TEST_CASE("plan: Algorithm 1 by the printed formulas and by the published code", "[cli][plan]") {
  const auto plan = json_of("plan --formulas-only --model opt-2.7b --gpus 4" + kLikeThePaper);
  CHECK(plan.at("schema").as_string() == "highwater.plan/2");
  const auto& printed = plan.at("llmem").at(0);
  CHECK(printed.at("choice").as_string() == "4DP");
  const std::vector<std::int64_t> largest{0, 9, 21, 17};
  const std::vector<double> scores{0, 36, 21, 34};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(printed.at("methods").at(i).at("largest_batch").as_int64() == largest[i]);
    CHECK(printed.at("methods").at(i).at("score").as_double() == scores[i]);
  }
  CHECK(printed.at("choice_method").as_string() == "ADP");
  CHECK(plan.at("llmem").at(2).at("choice").as_string() == "2DP+2TP");
  CHECK(plan.at("llmem").at(2).at("methods").as_array().size() == 3);  // the code has no CDP
  CHECK(plan.at("published").at("choice").as_string() == "4TP");
  CHECK_THAT(std::string(plan.at("published").at("mismatch").as_string()), Contains("9 sequences"));
  CHECK(plan.at("strategies").is_null());
}

TEST_CASE("plan: the algorithm's two endings are told apart", "[cli][plan]") {
  // A small model with very long sequences: what TP gathers in backward makes it the largest.
  const std::string options =
      "plan --formulas-only --model llama-160m --gpus 4 --seq 262144 --precision fp16 --gpu "
      "v100-16 ";
  const auto plan = json_of(options + "--capacity 58000000000");
  const auto& printed = plan.at("llmem").at(0);
  CHECK(printed.at("methods").at(1).at("largest_batch").as_int64() == 1);
  CHECK(printed.at("methods").at(2).at("largest_batch").as_int64() == 0);
  CHECK(printed.at("choice").as_string() == "CPU offloading");
  CHECK(printed.at("choice_as_text_says").as_string() == "4DP");
  CHECK_THAT(run_line(options + "--capacity 58000000000").out,
             Contains("the algorithm's last line selects CPU offloading"));
}

TEST_CASE("plan: states above a GPU are named, as no smaller batch helps", "[cli][plan][long]") {
  // fp32 throughout: 4 bytes each of parameter, gradient and two moments.
  const std::string options = "plan --seq 64 --precision bf16 --gpus 1 --model ";
  const auto states = [](const boost::json::value& plan) {
    return plan.at("strategies").at("states_above_a_gpu");
  };
  const auto plan = json_of(options + "gpt2-xl --gpu rtx2080ti --attention sdpa-math");
  CHECK(states(plan).at("bytes").to_number<double>() == Approx(16 * 1557611200.0).epsilon(0.001));
  CHECK_THAT(std::string(states(plan).at("meaning").as_string()),
             Contains("a smaller batch or a shorter sequence does not make all states fit"));
  CHECK(states(json_of(options + "gpt2 --gpu rtx2080ti --attention sdpa-math")).is_null());
}

TEST_CASE("plan: a row is a plan that simulate carries out", "[cli][plan][long]") {
  const std::string options =
      "plan --model gpt2 --seq 256 --precision bf16 --gpu rtx2080ti --attention sdpa-math ";
  const auto plan = json_of(options + "--global-batch 32");
  const auto& first = plan.at("strategies").at("results").at(0);
  CHECK(first.at("strategy").as_string() == "one GPU");
  CHECK(first.at("states").as_string() == "fp32");
  const auto& sizes = first.at("plan");
  CHECK(sizes.at("batch").as_int64() * sizes.at("grad_accum").as_int64() == 32);
  const std::string line(first.at("command").as_string());
  const auto simulated = json_of(line.substr(std::string("highwater ").size()));
  CHECK(simulated.at("fits").as_bool());
  CHECK(simulated.at("peak").at("reserved_bytes") == first.at("peak_reserved_bytes"));
  CHECK(plan.at("llmem").as_array().size() == 2);  // no groups, so nothing to correct
  CHECK(plan.at("llmem").at(0).at("methods").as_array().size() == 1);
}

TEST_CASE("plan: rows leave the margin that is asked for", "[cli][plan][long]") {
  const std::string options =
      "plan --model llama-160m --seq 256 --precision bf16 --capacity 4GiB --gpus 2 "
      "--global-batch 16 --margin ";
  for (const std::string margin : {"0", "20%"}) {
    const auto plan = json_of(options + margin);
    const double share = plan.at("strategies").at("margin").to_number<double>();
    CHECK(share == Approx(margin == "0" ? 0.0 : 0.2));
    for (const auto& row : plan.at("strategies").at("results").as_array()) {
      CHECK(row.at("peak_reserved_bytes").to_number<double>() <=
            (1 - share) * row.at("capacity_bytes").to_number<double>());
    }
  }
}

TEST_CASE("plan: strategies and kinds of training can be chosen", "[cli][plan]") {
  const std::string options =
      "plan --model llama-160m --seq 256 --precision bf16 --capacity 8GiB --gpus 2 --rows 3 ";
  const auto rows = json_of(options + "--only DDP").at("strategies").at("results").as_array();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("strategy").as_string() == "DDP");
  const auto all = json_of(options + "--only DDP --allow lora").at("strategies").at("results");
  REQUIRE(all.as_array().size() == 3);
  CHECK(all.at(0).at("states").as_string() == "fp32");
  CHECK(all.at(1).at("states").as_string() == "fp32, 8-bit moments");
  CHECK(all.at(2).at("states").as_string() == "16 bit");
}

TEST_CASE("plan: where nothing fits, a sentence says what is nearest and what it needs",
          "[cli][plan]") {
  const CommandRun result = run_line(
      "plan --model llama-160m --seq 256 --precision bf16 --capacity 2GiB --only DDP --gpus 2 "
      "--global-batch 16 --allow full");
  CHECK(result.code == ExitCode::ok);
  CHECK_THAT(result.out,
             Contains("nothing fits: what needs least is DDP (2 x 1 x 1), which needs "));
  CHECK_THAT(result.out, Contains("try more GPUs (--gpus)"));
}

TEST_CASE("plan: what --precision means beside fp32 states is said", "[cli][plan]") {
  const std::string options = "plan --model llama-160m --seq 256 --capacity 8GiB --rows 1 ";
  CHECK_THAT(run_line(options + "--precision bf16").out,
             Contains("--precision bf16: rows with fp32 states compute in it and keep parameters"));
  CHECK_THAT(run_line(options + "--precision amp-bf16").out, !Contains("compute in it"));
}

TEST_CASE("plan: of a large model it is said that fp32 was assumed", "[cli][plan]") {
  const std::string options = "plan --formulas-only --gpu a100-80 --model ";
  const std::string note = "note: --precision is not given, so all is in fp32";
  CHECK_THAT(run_line(options + "llama-3-8b").out, Contains(note));
  CHECK_THAT(run_line(options + "llama-3-8b --precision fp32").out, !Contains(note));
  CHECK_THAT(run_line(options + "gpt2").out, !Contains(note));
}

TEST_CASE("plan: a GPU that is not named has rates that are assumed, as is said", "[cli][plan]") {
  const std::string options = "plan --model llama-160m --seq 256 --precision bf16 --rows 1 ";
  CHECK_THAT(run_line(options + "--capacity 8GiB").out,
             Contains("no GPU is named (--gpu), so that rates are those of a100-80"));
  CHECK_THAT(run_line(options + "--gpu 24GiB").out, Contains("no rates are known for 24GiB"));
  CHECK_THAT(run_line(options + "--gpu rtx4090").out, !Contains("rates are those of"));
}

TEST_CASE("plan: CSV has the rows, with their commands", "[cli][plan]") {
  const CommandRun result = run_line(
      "plan --model llama-160m --seq 256 --precision bf16 --capacity 8GiB --rows 1 --format csv");
  CHECK_THAT(result.out,
             Catch::StartsWith("strategy,states,fits,dp,tp,pp,cp,ep,etp,checkpoint,batch,"));
  CHECK_THAT(result.out, Contains("highwater simulate --model llama-160m"));
  CHECK_THAT(result.out, !Contains("as printed"));
}

// 2,162 tokens/s and GPU of Llama 2 13B on 64 A100: torchtitan, docs/performance.md.
TEST_CASE("plan: published throughputs stand beside the model of time", "[cli][plan]") {
  const auto rates = json_of("plan --published-rates");
  CHECK(rates.at("schema").as_string() == "highwater.plan_rates/1");
  const auto& runs = rates.at("runs").as_array();
  CHECK(runs.size() >= 15);
  for (const auto& run : runs) {
    CAPTURE(std::string(run.at("name").as_string()));
    CHECK_FALSE(run.at("source").as_string().empty());
    const double share = run.at("share").to_number<double>();
    CHECK(share > 0.1);
    CHECK(share < 1.3);
    CHECK(share == Approx(run.at("published").to_number<double>() /
                          run.at("estimated").to_number<double>()));
  }
  const auto titan = std::ranges::find_if(runs, [](const auto& run) {
    return run.at("name").as_string() == "torchtitan, Llama 2 13B on 64";
  });
  REQUIRE(titan != runs.end());
  CHECK(titan->at("published").to_number<double>() == 2162);
}

TEST_CASE("plan: rates are intervals, by the shares that published runs reached", "[cli][plan]") {
  const auto plan = json_of(
      "plan --model llama-3-8b --seq 2048 --precision bf16 --gpu h100-80 --gpus 8 --rows 1 "
      "--only FSDP2 --global-batch 8 --checkpoint full");
  const auto& row = plan.at("strategies").at("results").at(0);
  const double estimate = row.at("tokens_per_second_per_gpu").to_number<double>();
  const double least = row.at("least_tokens_per_second_per_gpu").to_number<double>();
  const double most = row.at("most_tokens_per_second_per_gpu").to_number<double>();
  CHECK(least < most);
  CHECK(least > 0.2 * estimate);
  CHECK(most < 1.1 * estimate);
}

TEST_CASE("plan: wrong choices are named", "[cli][plan]") {
  const CommandRun result = run_line(
      "plan --model gpt2 --gpu a100-80 --only Nothing --allow half --margin 100 --rows 0 "
      "--global-batch 8 --grad-accum 2");
  CHECK(result.code == ExitCode::usage);
  for (const std::string text :
       {"--only Nothing: no strategy", "--allow half: unknown kind", "--margin 100: not a share",
        "--rows 0: out of range", "--global-batch with --grad-accum"}) {
    CHECK_THAT(result.err, Contains(text));
  }
}

TEST_CASE("plan: the paper's tables come out again", "[cli][plan]") {
  const CommandRun result = run_line("plan --published");
  CHECK(result.code == ExitCode::ok);
  for (const std::string figure : {"0.4 %", "1.6 %", "0.8 %", "36.5 %", "42.5 %", "34.3 %",
                                   "57.1 %", "42.6 %", "0 / 43 / 45 / 44", "0 / 0 / 3 / 1"}) {
    CHECK_THAT(result.out, Contains(figure));
  }
  for (const std::string model : {"opt-2.7b", "bloom-3b", "codegen-2B"}) {
    CHECK_THAT(result.out, Contains("known mismatch, " + model));
  }
}

TEST_CASE("plan: the paper's tables are not cut into pieces", "[cli][plan]") {
  const std::string options = GENERATE("--shard 1/2 --output part", "--journal kept",
                                       "--journal kept --resume", "--piece-times times");
  const CommandRun result = run_line("plan --published " + options);
  CHECK(result.code == ExitCode::usage);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, Contains(options.substr(0, options.find(' '))) && Contains("omit it"));
  CHECK_FALSE(std::filesystem::exists("part"));
  CHECK_FALSE(std::filesystem::exists("kept"));
}

TEST_CASE("plan: the paper's tables as JSON", "[cli][plan]") {
  const auto tables = json_of("plan --published");
  CHECK(tables.at("schema").as_string() == "highwater.plan_published/1");
  CHECK(tables.at("table2").as_array().size() > 1);
  const auto& table3 = tables.at("table3").as_array();
  const auto found = std::ranges::find_if(
      table3, [](const auto& row) { return row.at("model").as_string() == "opt-2.7b"; });
  REQUIRE(found != table3.end());
  CHECK(found->at("formulas").at("largest_batch").as_object().size() == 4);
  CHECK(found->at("paper_choice").is_string());
  CHECK(found->at("mismatch").is_string());
}

TEST_CASE("plan: models that LLMem does not describe are simulated all the same", "[cli][plan]") {
  const CommandRun result =
      run_line("plan --model t5-small --seq 64 --gpu rtx2080ti --precision fp32");
  CHECK(result.code == ExitCode::ok);
  CHECK_THAT(result.out, Contains("LLMem does not apply: it covers only decoders"));
  CHECK_THAT(result.out, Contains("By simulation, on 1 GPU"));
}

TEST_CASE("plan: mistakes are reported together", "[cli][plan]") {
  const CommandRun result = run_line(
      "plan --model gpt2 --gpus 6 --tp 4 --dp 2 --framework megatron --cp 0 --network fast");
  CHECK(result.code == ExitCode::usage);
  for (const std::string text :
       {"--dp 2 --tp 4: 6 GPUs cannot be divided into groups of 8", "--cp 0: use a number from 1",
        "--framework: plan compares programs", "--network fast: not a rate",
        "add --gpu or --capacity"}) {
    CHECK_THAT(result.err, Contains(text));
  }
}

TEST_CASE("plan: what is given of a division is kept, and settings are set", "[cli][plan]") {
  const std::string options =
      "plan --model llama-160m --seq 256 --precision bf16 --capacity 8GiB --gpus 4 "
      "--global-batch 64 --rows 4 ";
  const auto rows = [&](const std::string& fixed) {
    return json_of(options + fixed).at("strategies").at("results").as_array();
  };
  const auto two = rows("--tp 2 --cp 1 --batch 4");
  REQUIRE_FALSE(two.empty());
  for (const auto& row : two) {
    CHECK(row.at("plan").at("tp").as_int64() == 2);
    CHECK(row.at("plan").at("cp").as_int64() == 1);
    CHECK(row.at("plan").at("batch").as_int64() == 4);
  }
  for (const auto& row : rows("--dp-kind fsdp1")) {
    CHECK(row.at("strategy").as_string() == "FSDP1");
  }
  const auto narrow = rows("--only Megatron --fp32-grads=false --checkpoint none --dp 4");
  REQUIRE_FALSE(narrow.empty());
  for (const auto& row : narrow) {
    CHECK_FALSE(row.at("plan").at("fp32_grads").as_bool());
    CHECK(row.at("plan").at("checkpoint").as_string() == "none");
  }
  CHECK(narrow.front().at("peak_reserved_bytes").as_int64() <
        rows("--only Megatron --checkpoint none --dp 4")
            .front()
            .at("peak_reserved_bytes")
            .as_int64());
  CHECK_THAT(run_line(options + "--dp-kind fsdp1 --tp 4").out,
             Contains("no row for 4 GPUs has --dp-kind fsdp1 and --tp 4 together; leave out one of "
                      "these"));
}

TEST_CASE("plan: what is assumed of time is said", "[cli][plan]") {
  const std::string options =
      "plan --model llama-160m --seq 256 --precision bf16 --gpu a100-40 --gpus 16 --rows 1 "
      "--global-batch 64 --only Megatron";
  CHECK_THAT(run_line(options).out,
             Contains("assumed: 25 GB/s from each GPU to other machines (--network), "
                      "tensor-parallel all-reduces not overlapped (--tp-comm-overlap)"));
  const auto assumed = json_of(options + " --network 6.25 --tp-comm-overlap --tensor-first")
                           .at("strategies")
                           .at("assumptions");
  CHECK(assumed.at("network_bytes_per_second").to_number<double>() == 6.25e9);
  CHECK(assumed.at("tensor_sums").as_string() == "overlapped with matrix products");
  CHECK(assumed.at("pipelines_beside_full_machines_only").as_bool());
}

TEST_CASE("plan: a GPU without rates is said to have an A100's", "[cli][plan]") {
  const std::string options = "plan --model llama-160m --seq 256 --rows 1 --gpu ";
  const std::string note = "no rates are known for 24GiB; those of a100-80 are assumed";
  CHECK_THAT(run_line(options + "24GiB").out, Contains(note));
  CHECK_THAT(run_line(options + "rtx4090").out, !Contains("no rates are known"));
  const auto assumed = [&](const std::string& gpu) {
    return json_of(options + gpu).at("strategies").at("assumptions").as_object();
  };
  CHECK(assumed("24GiB").at("rates_of").as_string() == "a100-80");
  CHECK_FALSE(assumed("rtx4090").contains("rates_of"));
  const std::string solve = "plan --for checkpoint --model gpt2 --seq 64 --gpu ";
  CHECK_THAT(run_line(solve + "24GiB").out, Contains("note: " + note));
  CHECK_THAT(run_line(solve + "l4").out, !Contains("no rates are known"));
  CHECK_THAT(run_line("plan --for batch --model gpt2 --seq 64 --gpu 2GiB").out,
             !Contains("no rates are known"));
}

}  // namespace plan_command_test
