// Command line: `estimate`, and the forms beside the simulation in `simulate`.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "workloads/estimates/terms/formula.hpp"

using namespace highwater;
using Catch::Contains;

namespace estimate_command_test {

namespace {

std::int64_t number(const boost::json::value& value) {
  return value.to_number<std::int64_t>();
}

}  // namespace

TEST_CASE("estimate: DeepSpeed's table as its documentation prints it", "[cli][estimates]") {
  const CommandRun result = run_line(
      "estimate --model t5-3b --gpus-per-node 8 --nodes 1 --formula deepspeed-zero3 "
      "--format markdown");
  CHECK(result.code == ExitCode::ok);
  CHECK_THAT(result.out, Contains("2851M parameters, 32M in the largest layer"));
  for (const std::string row :
       {"| 71.71GB | 0.12GB | offload_param=cpu, offload_optimizer=cpu, zero_init=1 |",
        "| 127.48GB | 0.12GB | offload_param=cpu, offload_optimizer=cpu, zero_init=0 |",
        "| 63.74GB | 0.79GB | offload_param=none, offload_optimizer=cpu, zero_init=1 |",
        "| 127.48GB | 0.79GB | offload_param=none, offload_optimizer=cpu, zero_init=0 |",
        "| 1.47GB | 6.10GB | offload_param=none, offload_optimizer=none, zero_init=1 |",
        "| 127.48GB | 6.10GB | offload_param=none, offload_optimizer=none, zero_init=0 |"}) {
    CHECK_THAT(result.out, Contains(row));
  }
}

TEST_CASE("estimate: every form answers or says why not, and its terms sum", "[cli][estimates]") {
  for (const std::string options :
       {"--model gpt2", "--model t5-small --gpus-per-node 4 --nodes 2 --dp-kind zero3",
        "--model mixtral-8x7b --precision bf16", "--model gpt2 --mode eval",
        "--model llama-3-8b --precision bf16 --dp 4 --tp 2 --sp --pp 2 --dp-kind zero1",
        "--model opt-1.3b --precision fp16 --dp 4 --tp 2 --dp-kind zero3 --offload both"}) {
    const auto report = json_of("estimate " + options);
    CAPTURE(options);
    CHECK(report.at("schema").as_string() == "highwater.estimate/1");
    const auto& estimates = report.at("estimates").as_array();
    CHECK(estimates.size() + report.at("not_applicable").as_array().size() == formulas().size());
    for (const auto& estimate : estimates) {
      std::int64_t sum = 0;
      for (const auto& term : estimate.at("terms").as_array()) {
        sum += number(term.at("bytes"));
      }
      CHECK(sum == number(estimate.at("bytes")));
      for (const std::string text : {"source", "equation", "assumptions", "known_errors"}) {
        CHECK_FALSE(estimate.at(text).as_string().empty());
      }
    }
    for (const auto& refused : report.at("not_applicable").as_array()) {
      CHECK_FALSE(refused.at("reason").as_string().empty());
    }
  }
}

TEST_CASE("estimate: the job's size becomes data-parallel ranks", "[cli][estimates]") {
  const auto job = [](const std::string& options) {
    return json_of("estimate --model gpt2 --formula zero-paper --dp-kind zero3 " + options);
  };
  const auto bytes = [](const boost::json::object& report) {
    return number(report.at("estimates").at(0).at("bytes"));
  };
  const std::int64_t whole = 16LL * 124439808;
  CHECK(bytes(job("")) == whole);
  CHECK(bytes(job("--dp 16")) == whole / 16);
  CHECK(bytes(job("--gpus-per-node 8 --nodes 2")) == whole / 16);
  CHECK(number(job("--dp 16").at("job").at("nodes")) == 2);
  CHECK(number(job("--dp 12").at("job").at("gpus")) == 12);  // two nodes of six
  CHECK(number(job("--dp 16 --nodes 2").at("job").at("gpus_per_node")) == 8);
  CHECK(number(job("--dp 8 --gpus-per-node 4").at("job").at("nodes")) == 2);
  CHECK(number(job("--gpus-per-node 8").at("job").at("gpus")) == 8);
}

TEST_CASE("estimate: mistakes are reported together", "[cli][estimates]") {
  const CommandRun result = run_line(
      "estimate --model gpt2 --formula deepspeed-zero4,4n --nodes 0 --gpus-per-node x "
      "--llmem-base much");
  CHECK(result.code == ExitCode::usage);
  for (const std::string text :
       {"did you mean deepspeed-zero", "--nodes 0", "--gpus-per-node x", "--llmem-base"}) {
    CHECK_THAT(result.err, Contains(text));
  }
  CHECK_THAT(run_line("estimate --model gpt2 --dp 3 --gpus-per-node 8").err,
             Contains("8 GPUs, but dp 3"));
  // Said once, though both the word and the rules are looked at.
  const std::string twice = run_line("estimate --model gpt2 --dp abc").err;
  CHECK(twice.find("--dp abc") == twice.rfind("--dp abc"));
  CHECK_THAT(run_line("estimate").err, Contains("missing --model"));
}

TEST_CASE("estimate: --explain tells what the numbers rest on", "[cli][estimates]") {
  const CommandRun result = run_line("estimate --model gpt2 --formula 4n --explain");
  for (const std::string text : {"4 N", "100.4 GiB", "assumptions", "known errors", "source"}) {
    CHECK_THAT(result.out, Contains(text));
  }
  CHECK_THAT(run_line("estimate --model gpt2 --formula 4n").out, !Contains("100.4 GiB"));
}

TEST_CASE("estimate: other formats have the same terms", "[cli][estimates]") {
  const CommandRun csv = run_line("estimate --model gpt2 --formula 4n --format csv");
  CHECK(csv.out ==
        "form,term,equation,bytes\n"
        "4n,weights,N = 4 P,497759232\n"
        "4n,gradients,N,497759232\n"
        "4n,optimizer states,2 N,995518464\n"
        "4n,total,sum of the terms,1991036928\n");
}

TEST_CASE("simulate: forms beside the peak, bridged to the byte", "[cli][estimates][simulate]") {
  const auto run = json_of("simulate --model gpt2 --seq 64 --batch 2");
  const std::int64_t process =
      number(run.at("peak").at("reserved_bytes")) + number(run.at("outside_allocator").at("bytes"));
  CHECK(run.at("estimates").as_array().size() > 10);
  for (const auto& estimate : run.at("estimates").as_array()) {
    CAPTURE(std::string(estimate.at("name").as_string()));
    const std::int64_t simulated = number(estimate.at("simulated_peak_bytes"));
    CHECK(simulated == (estimate.at("about").as_string() == "device"
                            ? process
                            : number(run.at("peak").at("allocated_bytes"))));
    CHECK(number(estimate.at("difference_bytes")) == number(estimate.at("bytes")) - simulated);
    CHECK(estimate.at("error_vs_simulated").as_double() ==
          Approx(double(number(estimate.at("bytes"))) / double(simulated) - 1).margin(1e-6));
    const auto& bridge = estimate.at("bridge");
    std::int64_t difference = 0;
    for (const auto& line : bridge.at("lines").as_array()) {
      difference += number(line.at("to_add_bytes"));
    }
    CHECK(number(bridge.at("estimated_bytes")) == number(estimate.at("bytes")));
    CHECK(number(bridge.at("simulated_bytes")) == process);
    CHECK(difference == number(bridge.at("to_add_bytes")));
  }
}

TEST_CASE("simulate: a run that ended early is compared as far as it came", "[cli][estimates]") {
  const CommandRun table =
      run_line("simulate --model gpt2 --capacity 1MiB --bridge all,4n --estimates");
  CHECK_THAT(table.out, Contains("up to where memory ran out") && !Contains("inf"));
  const auto run = json_of("simulate --model gpt2 --capacity 1MiB");
  CHECK_FALSE(run.at("estimates_compared_with_complete_run").as_bool());
  CHECK(run.at("estimates").at(0).at("error_vs_simulated").is_null());
}

TEST_CASE("simulate: --bridge shows the forms that it names", "[cli][estimates][simulate]") {
  const CommandRun result =
      run_line("simulate --model t5-small --seq 64 --attention eager --bridge dnnmem,llmem");
  CHECK(result.code == ExitCode::ok);
  CHECK_THAT(result.out, Contains("From dnnmem to the simulated process"));
  CHECK_THAT(result.out, Contains("llmem does not apply: it covers only decoders"));
  CHECK(run_line("simulate --model gpt2 --bridge nemo").code == ExitCode::usage);
}

}  // namespace estimate_command_test
