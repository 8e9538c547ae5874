// Recorded loops over ranks that share states, sequences or experts: DeepSpeed's engine, PyTorch's
// ZeroRedundancyOptimizer, accelerate's FSDP1.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/tools/commands/recorded_loops.hpp"

using namespace highwater;

namespace loops_test {

// tools/python/frameworks/users/train_ulysses.py: DeepSpeed 0.19.8's UlyssesSPAttentionHF.
TEST_CASE("loops: DeepSpeed's Ulysses has the peaks of the recordings", "[cli][framework]") {
  const auto [recording, rank, options] = GENERATE(table<std::string, std::string, std::string>({
      {"ulysses-zero1-rank1", "1", "--batch 2 --seq 512 --dp-kind zero1 --cp 2"},
      {"ulysses-zero2-of-4", "0", "--batch 1 --seq 512 --dp-kind zero2 --dp 2 --cp 2"},
      {"ulysses-of-8-rank5", "5", "--batch 2 --seq 1024 --dp-kind zero2 --cp 8"},
      {"ulysses-zero3-of-4-rank3", "3", "--batch 1 --seq 512 --dp-kind zero3 --dp 2 --cp 2"},
      {"ulysses-zero3-of-8-rank5", "5", "--batch 2 --seq 1024 --dp-kind zero3 --cp 8"},
      {"ulysses-zero3-small-buckets-rank1", "1",
       "--batch 1 --seq 512 --dp-kind zero3 --dp 2 --cp 2 --reduce-bucket-size 400000"},
  }));
  check_peaks(recording,
              "llama.json --precision bf16 --cp-kind ulysses --gpu h100-80 --steps 3 " + options,
              {.allocated = 1e-9}, {.rank = rank});
}

TEST_CASE("loops: Ulysses with checkpoints has the peaks of the recording", "[cli][framework]") {
  check_peaks("ulysses-zero3-checkpointed-rank3",
              "ulysses-llama.json --precision bf16 --batch 2 --seq 512 --dp-kind zero3 --dp 2 --cp "
              "2 --cp-kind ulysses --checkpoint full --use-cache false --gpu h100-80 --steps 3",
              {.allocated = 1e-9}, {.rank = "3", .transformers = "5.24"});
}

// ZeRO++, DeepSpeed 0.19.8.
TEST_CASE("loops: a second copy of the parameters has the peaks of the recording",
          "[cli][framework]") {
  check_peaks(
      "zero3-second-copy-rank2",
      "redundancy-llama.json --framework deepspeed --precision bf16 --init device --batch 2 "
      "--seq 256 --dp 4 --dp-kind zero3 --hpz-partition-size 2 "
      "--param-persistence-threshold 1000 --grad-accum 2 --grad-clip 1 --keep-logits false "
      "--use-cache false --gpu h100-80 --steps 4",
      {.allocated = 1e-9}, {.rank = "2", .transformers = "5.24"});
}

// The script had no labels of its own: 2 KiB.
TEST_CASE("loops: ZeroRedundancyOptimizer has the peaks of the recordings", "[cli][framework]") {
  const auto [recording, rank, options] = GENERATE(table<std::string, std::string, std::string>({
      {"zero-redundancy-buckets-rank3", "3",
       "redundancy-llama.json --dp 4 --bucket-view --zero-redundancy buckets"},
      {"zero-redundancy-of-8-rank5", "5",
       "redundancy-opt.json --dp 8 --zero-redundancy parameters"},
  }));
  check_peaks(recording,
              options +
                  " --framework hf --init cpu --batch 2 --seq 128 --keep-logits false --gpu "
                  "h100-80 --steps 4",
              {}, {.rank = rank, .transformers = "5.24"});
}

// accelerate 1.15: the model is made on the host unless the line says otherwise.
TEST_CASE("loops: accelerate's FSDP1 with prefetching has the peaks of the recording",
          "[cli][framework]") {
  check_peaks("accelerate-llama-fsdp1-prefetch",
              "prefetch-llama.json --framework accelerate-fsdp2 --dp 4 --dp-kind fsdp1 --precision "
              "amp-bf16 --backward-prefetch pre --forward-prefetch --batch 2 --seq 256 --grad-clip "
              "1 --keep-logits false --gpu h100-80 --steps 4",
              {}, {.transformers = "5.24"});
}

// The same script with attention=distributed: deepspeed.sequence.layer.DistributedAttention.
TEST_CASE("loops: DeepSpeed's DistributedAttention has the peaks of the recordings",
          "[cli][framework]") {
  const auto [recording, rank, options] = GENERATE(table<std::string, std::string, std::string>({
      {"distributed-attention-zero1", "0",
       "--batch 2 --seq 512 --dp-kind zero1 --cp 2 --gpu a100-80"},
      {"distributed-attention-zero2-rank1", "1",
       "--batch 1 --seq 512 --dp-kind zero2 --dp 2 --cp 2 --gpu h100-80"},
      {"distributed-attention-zero3-rank2", "2",
       "--batch 2 --seq 1024 --dp-kind zero3 --cp 4 --gpu h100-80"},
  }));
  check_peaks(recording,
              "llama.json --precision bf16 --cp-kind distributed-attention --steps 3 " + options,
              {.allocated = 1e-9}, {.rank = rank});
}

TEST_CASE("loops: DistributedAttention's uneven exchange is refused by a sentence",
          "[cli][framework]") {
  const auto run = run_line("simulate --model " + kLoops +
                            "llama.json --precision bf16 --seq 512 --dp-kind zero2 --cp 8 "
                            "--cp-kind distributed-attention");
  CHECK(run.code == ExitCode::usage);
  CHECK_THAT(run.err, Catch::Matchers::Contains("uneven exchange"));
}

// tools/python/frameworks/users/train_deepspeed.py gpt2 STAGE bf16, whose tokens are its labels:
// one block of 16 KiB less.
TEST_CASE("loops: DeepSpeed on one GPU has the peaks of the recordings", "[cli][framework]") {
  const std::string stage = GENERATE("0", "1", "2", "3");
  const auto recorded = json_of("replay " + kLoops + "deepspeed-one-gpu-zero" + stage + ".hwt.xz");
  const auto simulated = json_of(
      "simulate --framework deepspeed --model gpt2 --precision bf16 --batch 2 --seq 1024 --gpu "
      "h100-80 --steps 3 --torch 2.15 --transformers 5.23 --dp-kind zero" +
      stage);
  const auto& device = recorded.at("devices").at(0).as_object();
  CAPTURE(stage);
  CHECK(figure(simulated, "allocated_bytes") - figure(device, "allocated_bytes") == 16384);
  CHECK(figure(simulated, "reserved_bytes") == figure(device, "reserved_bytes"));
}

// tools/python/frameworks/users/train_deepspeed_moe.py: DeepSpeed 0.19.8's MoE layer in a Mixtral.
TEST_CASE("loops: DeepSpeed's mixtures have the peaks of the recordings", "[cli][framework]") {
  const auto [recording, rank, options] = GENERATE(table<std::string, std::string, std::string>({
      {"moe-top2", "0", "mixtral.json --batch 2 --seq 256 --moe-capacity-factor 1.25"},
      {"moe-top2-ep2-rank1", "1",
       "mixtral.json --batch 2 --seq 256 --moe-capacity-factor 1 --dp 4 --ep 2"},
      {"moe-top1-rsample", "0",
       "mixtral-top1.json --batch 2 --seq 256 --moe-capacity-factor 1.25 --moe-noise rsample"},
      {"moe-top1-residual", "0",
       "mixtral-top1.json --batch 1 --seq 512 --moe-capacity-factor 1.5 --moe-residual"},
      {"moe-top1-jitter-ep4-rank2", "2",
       "mixtral-top1.json --batch 2 --seq 200 --moe-capacity-factor 2 --moe-noise jitter --dp 4 "
       "--ep 4"},
      {"moe-top2-zipf", "0", "mixtral.json --batch 2 --seq 256 --moe-load zipf:1"},
      {"moe-top1-no-drops-ep4-rank2", "2", "mixtral-top1.json --batch 2 --seq 200 --dp 4 --ep 4"},
      {"moe-top4-ep2-rank1", "1",
       "mixtral-top4.json --batch 2 --seq 256 --moe-capacity-factor 1.25 --dp 4 --ep 2"},
      {"moe-top4-no-drops-busiest", "0",
       "mixtral-top4.json --batch 1 --seq 300 --moe-load busiest:2"},
  }));
  check_peaks(recording, options + " --experts deepspeed --precision bf16 --gpu h100-80 --steps 3",
              {.allocated = 1e-9}, {.rank = rank});
}

}  // namespace loops_test
