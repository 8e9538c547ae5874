// Command line: `plan --for`. Each answer is checked by `simulate`, which knows nothing of the
// search: with the answer the plan fits, with the next value it does not, or is refused.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>

#include <boost/json.hpp>
#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;
using Catch::Contains;

namespace solve_command_test {

namespace {

// Of a few layers, so that a debug build simulates one in milliseconds.
const std::string kLlama =
    R"(--model {"model_type":"llama","hidden_size":256,"intermediate_size":704,)"
    R"("num_hidden_layers":4,"num_attention_heads":8,"num_key_value_heads":4,"vocab_size":4096} )";
const std::string kGpt2 =
    R"(--model {"model_type":"gpt2","n_embd":256,"n_layer":3,"n_head":4,"n_positions":1024,)"
    R"("vocab_size":4096} )";
const std::string kBert = R"(--model {"model_type":"bert","hidden_size":128,"num_hidden_layers":3,)"
                          R"("num_attention_heads":4,"intermediate_size":512,"vocab_size":4096} )";
const std::string kT5 =
    R"(--model {"model_type":"t5","d_model":128,"d_kv":32,"d_ff":512,"num_layers":3,"num_heads":4} )";
const std::string kMixtral =
    R"(--model {"model_type":"mixtral","hidden_size":128,"intermediate_size":256,)"
    R"("num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,)"
    R"("num_local_experts":4,"vocab_size":2048} )";

/// A question: the plan without its field.
struct SolvedCase {
  const char* field;
  std::string plan;
  std::string memory;
};

std::vector<SolvedCase> solved_cases() {
  return {
      {"batch", kLlama + "--seq 256 --precision bf16", "--capacity 400MiB"},
      {"batch", kGpt2 + "--seq 512 --precision amp-bf16 --checkpoint full", "--gpu v100-16"},
      {"batch", kBert + "--seq 128 --grad-accum 2", "--capacity 300MiB"},
      {"batch", kT5 + "--seq 64 --optimizer adafactor", "--capacity 500MiB"},
      {"batch", kMixtral + "--seq 128 --precision bf16", "--capacity 300MiB"},
      {"batch", kLlama + "--seq 128 --dp 4 --dp-kind fsdp2 --precision bf16", "--capacity 300MiB"},
      {"batch", kGpt2 + "--seq 128 --framework megatron --tp 2 --pp 1 --dp 2 --dp-kind zero1",
       "--capacity 300MiB"},
      {"batch:8", kLlama + "--seq 64 --lora 8 --framework trainer", "--capacity 300MiB"},
      {"seq", kLlama + "--batch 2 --precision bf16 --checkpoint every-2", "--gpu 1GiB"},
      {"seq", kGpt2 + "--batch 4 --precision bf16", "--capacity 8GiB"},  // 1,024 positions
      {"seq:1", kLlama + "--batch 1 --attention eager", "--capacity 400MiB"},
      {"seq", kLlama + "--framework megatron --tp 2 --sp --dp 1", "--capacity 300MiB"},
      {"hidden", kLlama + "--seq 128 --batch 2 --precision bf16", "--capacity 600MiB"},
      {"hidden", kGpt2 + "--seq 128 --dp 2 --dp-kind zero2 --framework deepspeed",
       "--capacity 4GiB"},
      {"lora", kLlama + "--seq 128 --batch 2", "--capacity 300MiB"},
      {"memory", kLlama + "--seq 512 --batch 4 --precision bf16", ""},
      {"memory", kGpt2 + "--seq 256 --batch 3 --alloc-conf expandable_segments:True", ""},
      {"memory", kLlama + "--seq 256 --batch 2 --dp 4 --dp-kind ddp --grad-accum 2", ""},
      {"gpus", kLlama + "--seq 128 --dp-kind fsdp2", "--capacity 80MiB"},
      {"gpus", kGpt2 + "--seq 128 --framework deepspeed --dp-kind zero3", "--capacity 2000MiB"},
      {"checkpoint", kLlama + "--seq 1024 --batch 4 --precision bf16", "--capacity 500MiB"},
      {"checkpoint", kGpt2 + "--seq 512 --batch 8 --precision bf16", "--capacity 400MiB"},
  };
}

std::string text_of(const boost::json::value& value) {
  return value.is_string() ? std::string(value.as_string()) : boost::json::serialize(value);
}

/// The plan with the field's value, for `simulate`.
std::string with_value(const SolvedCase& question, const std::string& option,
                       const std::string& value) {
  return fmt::format("simulate {} {} --{} {} --fail-on-oom --rank all", question.plan,
                     question.memory, option, value);
}

}  // namespace

TEST_CASE("solve: each answer fits when simulated, and the next value does not",
          "[cli][solve][long]") {
  for (const SolvedCase& each : solved_cases()) {
    const auto answer =
        json_of(fmt::format("plan --for {} {} {}", each.field, each.plan, each.memory));
    const auto& solved = answer.at("fields").at(0);
    CAPTURE(each.field, each.plan, boost::json::serialize(solved));
    CHECK(answer.at("schema").as_string() == "highwater.solve/1");
    const std::string name = text_of(solved.at("field"));
    const std::string option = name == "memory" ? "capacity" : name == "gpus" ? "dp" : name;
    REQUIRE(!solved.at("answer").is_null());
    REQUIRE(!solved.at("next").is_null());
    CHECK(run_line(with_value(each, option, text_of(solved.at("answer")))).code == ExitCode::ok);
    const ExitCode next = run_line(with_value(each, option, text_of(solved.at("next")))).code;
    const bool is_refused = text_of(solved.at("next_outcome")).starts_with("refused");
    CHECK(next == (is_refused ? ExitCode::usage : ExitCode::exceeded));
  }
}

TEST_CASE("solve: the answer of one field holds for the next", "[cli][solve]") {
  const std::string plan = kLlama + "--precision bf16 --capacity 400MiB ";
  const auto both = json_of("plan --for seq --for batch " + plan);
  const auto first = json_of("plan --for seq " + plan);
  const auto& seq = both.at("fields").at(0).at("answer");
  CHECK(seq == first.at("fields").at(0).at("answer"));
  const auto second = json_of(fmt::format("plan --for batch {} --seq {}", plan, text_of(seq)));
  CHECK(both.at("fields").at(1).at("answer") == second.at("fields").at(0).at("answer"));
  CHECK(both.at("plan").at("seq").at(0) == seq);

  const auto none = json_of("plan --for batch --for seq " + kLlama + "--capacity 20MiB");
  CHECK(none.at("fields").as_array().size() == 1);  // nothing to go on with
  CHECK(none.at("fields").at(0).at("answer").is_null());
}

TEST_CASE("solve: the line under the answer simulates the solved plan", "[cli][solve]") {
  const auto answer = json_of("plan --for hidden --model gpt2 --seq 64 --gpu 4GiB");
  const std::string line(answer.at("command").as_string());
  CHECK_THAT(line, Contains(" --hidden " + text_of(answer.at("fields").at(0).at("answer"))));
  const auto simulated = json_of(line.substr(std::string_view("highwater ").size()));
  CHECK(simulated.at("peak").at("reserved_bytes") ==
        answer.at("fields").at(0).at("peak_reserved_bytes"));
}

TEST_CASE("solve: without a strategy GPUs are counted over all of them", "[cli][solve][long]") {
  const std::string plan =
      R"(--model {"model_type":"llama","hidden_size":1024,"intermediate_size":2752,)"
      R"("num_hidden_layers":4,"num_attention_heads":16,"vocab_size":32000} )"
      "--seq 128 --precision bf16 --capacity 1500MiB ";
  const auto answer = json_of("plan --for gpus " + plan);
  const auto& solved = answer.at("fields").at(0);
  REQUIRE(!solved.at("answer").is_null());
  const auto gpus = solved.at("answer").as_int64();
  CAPTURE(boost::json::serialize(solved));
  CHECK(gpus > 1);
  const auto found = [&](std::int64_t number) {
    const auto rows =
        json_of(fmt::format("plan --gpus {} --allow full --margin 0 --rows 1 {}", number, plan));
    return rows.at("strategies").at("results").at(0).at("fits").as_bool();
  };
  CHECK(found(gpus));
  CHECK(!found(gpus - 1));
}

TEST_CASE("solve: the frontier has every policy, and marks what nothing beats",
          "[cli][solve][long]") {
  const std::string plan = kLlama + "--seq 512 --batch 4 --precision bf16 ";
  const auto answer = json_of("plan --frontier checkpoint " + plan);
  CHECK(answer.at("fields").as_array().empty());
  const auto& rows = answer.at("frontier").as_array();
  std::map<std::string, const boost::json::value*> by_policy;
  for (const auto& row : rows) {
    by_policy.emplace(text_of(row.at("checkpoint")), &row);
    const auto peak =
        json_of(fmt::format("simulate {} --checkpoint {}", plan, text_of(row.at("checkpoint"))));
    CHECK(peak.at("peak").at("reserved_bytes") == row.at("peak_reserved_bytes"));
  }
  // Four blocks: every-4, every-2 and full checkpoint one, two and four of them.
  for (const char* policy : {"none", "every-4", "every-2", "full", "selective-op"}) {
    CHECK(by_policy.contains(policy));
  }
  const auto recomputation = [&](const char* policy) {
    return by_policy.at(policy)->at("recomputation").to_number<double>();
  };
  CHECK(recomputation("none") == 0);
  CHECK(recomputation("every-4") == Approx(recomputation("full") / 4));
  CHECK(recomputation("every-2") == Approx(recomputation("full") / 2));
  for (const auto& row : rows) {
    const auto number = [](const boost::json::value& of, const char* key) {
      return of.at(key).to_number<double>();
    };
    const bool is_beaten = std::ranges::any_of(rows, [&](const boost::json::value& other) {
      const double memory =
          number(other, "peak_reserved_bytes") - number(row, "peak_reserved_bytes");
      const double time = number(other, "time") - number(row, "time");
      return memory <= 0 && time <= 0 && memory + time < 0;
    });
    CHECK(row.at("is_efficient").as_bool() == !is_beaten);
  }
}

TEST_CASE("solve: the page of the frontier has a point for each plan", "[cli][solve]") {
  const test::TempDir folder;
  const std::string page = (folder / "frontier.html").string();
  const CommandRun made = run_line("plan --frontier checkpoint,batch --html " + page + " " +
                                   kLlama + "--seq 256 --precision bf16 --capacity 300MiB");
  REQUIRE(made.code == ExitCode::ok);
  std::ifstream in(page);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const auto count = [&](const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  };
  const std::size_t points = count("<g><title>");
  CHECK(points > 5);
  CHECK(count("<circle") + count("<path") == points);
  CHECK(count("<tr>") == points + 1);
  CHECK(count("class=\"best\"") > 1);
  CHECK(count("<script") == 0);
}

TEST_CASE("solve: what cannot be asked is refused with a remedy", "[cli][solve]") {
  const auto refusal = [](const std::string& options) {
    const CommandRun refused = run_line("plan " + options);
    CHECK(refused.code == ExitCode::usage);
    return refused.err;
  };
  CHECK_THAT(refusal("--for width --model gpt2 --gpu a100-80"),
             Contains("use one of batch, seq, hidden, lora, memory, gpus, checkpoint"));
  CHECK_THAT(refusal("--for batch --model gpt2 --batch 2 --gpu a100-80"), Contains("omit --batch"));
  CHECK_THAT(refusal("--for batch --model gpt2"), Contains("add --gpu, --capacity"));
  CHECK_THAT(refusal("--for batch:x --model gpt2 --gpu a100-80"), Contains("batch:8"));
  CHECK_THAT(refusal("--for memory:2 --model gpt2"), Contains("has no step"));
  CHECK_THAT(refusal("--for batch --for batch --model gpt2 --gpu a100-80"), Contains("twice"));
  CHECK_THAT(refusal("--for gpus --model gpt2 --batch 2 --gpu a100-80"), Contains("--dp-kind"));
  CHECK_THAT(refusal("--frontier time --model gpt2"), Contains("checkpoint,batch"));
  CHECK_THAT(refusal("--for seq --model gpt2 --tp 7 --gpu a100-80"), Contains("heads of gpt2"));
  CHECK_THAT(run_line("simulate --model gpt2 --hidden 100").err, Contains("use a multiple of 64"));
}

TEST_CASE("solve: a fitted program is solved for its integers", "[cli][solve]") {
  const std::string program = HIGHWATER_SOURCE "/traces/recorded/scaling/gpt2_loop.hwp";
  const std::string options = " --seq 256 --capacity 2GiB --format json";
  const CommandRun solved = run_line("plan --from " + program + " --for batch" + options);
  CHECK(solved.code == ExitCode::ok);
  CHECK(solved.out == run_line("simulate --from " + program + " --find batch" + options).out);
}

}  // namespace solve_command_test
