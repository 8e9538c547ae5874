// The loops that people write, recorded (tests/data/loops), beside what one types first.
#include <cmath>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;

namespace {

const std::string kLoops = HIGHWATER_TEST_DATA "/loops/";

double figure(const boost::json::object& run, const char* which) {
  return run.at("peak").at(which).to_number<double>();
}

}  // namespace

TEST_CASE("loops: what one types first has the peaks of the recording", "[cli][framework]") {
  const auto [recording, options] = GENERATE(table<std::string, std::string>({
      {"script-gpt2", "gpt2.json --batch 2 --seq 256 --init device"},
      {"trainer-gpt2", "gpt2.json --batch 2 --seq 256 --framework trainer"},
      {"trainer-qwen2-bf16", "qwen2.json --batch 2 --seq 384 --precision bf16 --framework trainer"},
      {"trainer-llama-ddp4", "llama.json --batch 2 --seq 512 --bf16 --framework trainer --dp 4"},
      {"accelerate-llama-fsdp2x4",
       "llama.json --batch 2 --seq 512 --framework accelerate-fsdp2 --dp 4 --init cpu"},
      {"accelerate-qwen2-fsdp2x4",
       "qwen2.json --batch 2 --seq 384 --framework accelerate-fsdp2 --dp 4 --init cpu"},
  }));
  const auto recorded = json_of("replay " + kLoops + recording + ".hwt.xz");
  const auto simulated = json_of(
      "simulate --gpu h100-80 --steps 4 --rank 0 --torch 2.15 --transformers 5.23 --model " +
      kLoops + options);
  const auto& device = recorded.at("devices").at(0).as_object();
  const auto error = [&](const char* which) {
    return std::abs(figure(simulated, which) / figure(device, which) - 1);
  };
  CAPTURE(recording, error("allocated_bytes"), error("reserved_bytes"));
  CHECK(error("allocated_bytes") < 1e-5);
  CHECK(error("reserved_bytes") == 0);
}
