// ...ForSequenceClassification of transformers, recorded (tests/data/loops/classifiers, by
// tools/python/frameworks/users/train_classifier.py), beside the simulation of the same plan.
#include <string>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;

namespace classifier_test {

namespace {

const std::string kFolder = HIGHWATER_TEST_DATA "/loops/classifiers/";

boost::json::object simulated(const std::string& options) {
  return json_of(
      "simulate --torch 2.15 --transformers 5.23 --framework torch --init cpu --seq 128 --steps 3 "
      "--gpu h100-80 --cudnn-workspaces none --model " +
      kFolder + options);
}

}  // namespace

TEST_CASE("classifiers have the peaks and the requests of their recordings", "[cli][framework]") {
  const auto [recording, options] = GENERATE(table<std::string, std::string>({
      {"bert", "bert.json --batch 2 --num-labels 3"},
      {"bert-amp-padded",
       "bert.json --batch 2 --num-labels 3 --precision amp-bf16 --attention-mask full"},
      {"bert-bf16-ckpt", "bert.json --batch 2 --num-labels 3 --precision bf16 --checkpoint full"},
      {"gpt2-padded", "gpt2.json --batch 2 --num-labels 2 --attention-mask full"},
      {"llama-bf16", "llama.json --batch 2 --num-labels 4 --precision bf16"},
      {"gpt_neo", "gpt_neo.json --batch 2 --num-labels 2"},
      {"bloom", "bloom.json --batch 2 --num-labels 2"},
      {"opt", "opt.json --batch 2 --num-labels 2"},
      {"mixtral-bf16", "mixtral.json --batch 2 --num-labels 2 --precision bf16"},
      {"qwen3", "qwen3.json --batch 2 --num-labels 5"},
      {"phi3", "phi3.json --num-labels 2 --batch 3"},
      {"gemma2-ckpt",
       "gemma2.json --batch 2 --num-labels 2 --checkpoint full --checkpoint-impl reentrant"},
  }));
  CAPTURE(recording);
  const auto run = simulated(options);
  const auto truth = json_of("replay " + kFolder + recording + ".hwt.xz");
  const auto& device = truth.at("devices").at(0).as_object();
  for (const char* peak : {"requested_bytes", "allocated_bytes", "reserved_bytes"}) {
    CAPTURE(peak);
    CHECK(run.at("peak").at(peak) == device.at("peak").at(peak));
  }
  CHECK(run.at("counts").at("allocs") == device.at("counts").at("allocs"));
}

TEST_CASE("a classifier's parameters are its own", "[cli]") {
  const auto run = simulated("bert.json --batch 2 --num-labels 3");
  // 3 blocks of 789,760; tables of 3,000, 512 and 2 rows of 256 and their norm; the pooler; 3 rows
  // of 256 and 3 biases
  CHECK(run.at("model").at("parameters").to_number<std::int64_t>() ==
        3 * 789'760 + (3'000 + 512 + 2) * 256 + 512 + 256 * 257 + 3 * 257);
}

TEST_CASE("classifiers: what is not simulated is refused", "[cli]") {
  const auto refusal = [](const std::string& options) {
    return run_line("simulate --engine model --seq 128 " + options).err;
  };
  CHECK_THAT(refusal("--model t5-small --num-labels 2"), Catch::Contains("of this family"));
  CHECK_THAT(refusal("--model gpt2 --num-labels 2 --framework trainer"),
             Catch::Contains("in plain loops"));
  CHECK_THAT(refusal("--model gpt2 --num-labels 2 --lora 8"), Catch::Contains("in plain loops"));
}

}  // namespace classifier_test
