// Plans that PyTorch 2.15, transformers 5.24, PEFT 0.21, TRL 1.16 and accelerate 1.15 carried out
// (tests/data/loops/plans), beside their simulation.
#include <cstdint>
#include <string>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"

using namespace highwater;

namespace recorded_plans_test {

namespace {

const std::string kFolder = HIGHWATER_TEST_DATA "/loops/plans/";

struct Case {
  std::string recording;
  std::string model;
  std::string plan;
};

boost::json::object peak_of(const boost::json::object& device) {
  return device.at("peak").as_object();
}

boost::json::object simulated(const Case& each) {
  return peak_of(json_of("simulate --torch 2.15 --transformers 5.24 --engine model --model " +
                         kFolder + each.model + ".json " + each.plan));
}

boost::json::object recorded(const Case& each) {
  const auto replayed = json_of("replay " + kFolder + each.recording + ".hwt.xz");
  return peak_of(replayed.at("devices").at(0).as_object());
}

Case stage(const std::string& recording, const std::string& words) {
  return {recording, "pipeline",
          "--framework torch --init cpu --pp 2 --grad-accum 4 --batch 2 --seq 128 --gpu a100-40 " +
              words};
}

}  // namespace

TEST_CASE("recorded plans: a pipeline's stages have the same peaks", "[cli][framework][long]") {
  for (const Case& each : {stage("1f1b-rank0", "--rank 0"), stage("1f1b-rank1", "--rank 1"),
                           stage("gpipe-rank1", "--pp-schedule gpipe --rank 1"),
                           stage("1f1b-ddp-rank0", "--dp 2 --rank 0")}) {
    CAPTURE(each.recording);
    CHECK(simulated(each).at("requested_bytes") == recorded(each).at("requested_bytes"));
    CHECK(simulated(each).at("reserved_bytes") == recorded(each).at("reserved_bytes"));
  }
}

// Few bytes decide whether a segment of 2 MiB more is reserved: of Trainer's loss, divided by the
// number of labels and once more by 1; of fp16 adapters in fp32 while DoRA takes
// the lengths.
TEST_CASE("recorded plans: small tensors reserve as many segments", "[cli][framework]") {
  for (const Case& each :
       {Case{"trainer", "trainer",
             "--batch 1 --seq 1024 --gpu h100-80 --framework trainer --bf16 --checkpoint full "
             "--attention-mask full"},
        Case{"dora-nf4-fp16", "dora-nf4-fp16",
             "--batch 8 --seq 384 --gpu l40s --framework hf --precision fp16 --checkpoint full "
             "--lora 16 --dora --quantize nf4 --quant-storage fp16"}}) {
    CAPTURE(each.recording);
    CHECK(simulated(each).at("reserved_bytes") == recorded(each).at("reserved_bytes"));
  }
}

// TRL's collator gives a mask of ones, which a window of attention makes one for each sequence.
TEST_CASE("recorded plans: SFTTrainer has a mask", "[cli][framework]") {
  const Case sft{"sft", "sft",
                 "--batch 2 --seq 2048 --gpu a100-80 --framework trl-sft --precision bf16 "
                 "--grad-accum 3 --lora 64 --dp 2 --lora-targets all-linear"};
  const auto bytes = [](const boost::json::object& peak) {
    return static_cast<double>(peak.at("allocated_bytes").to_number<std::int64_t>());
  };
  CHECK(bytes(simulated(sft)) == Approx(bytes(recorded(sft))).epsilon(0.0001));
}

}  // namespace recorded_plans_test
