// The loops that people write, recorded (tests/data/loops), beside what one types first.
#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/temp_dir.hpp"
#include "tests/tools/commands/recorded_loops.hpp"

using namespace highwater;

namespace loops_test {

// transformers 5.24, accelerate 1.15, TRL 1.16, PEFT 0.21, DeepSpeed 0.19.8.
TEST_CASE("loops: adapters over ranks have the peaks of the recording", "[cli][framework][lora]") {
  const auto [recording, options] = GENERATE(table<std::string, std::string>({
      {"accelerate-llama-lora-fsdp2x4",
       "--framework accelerate-fsdp2 --precision bf16+amp --init cpu"},
      {"accelerate-llama-lora-fsdp1x4",
       "--framework accelerate-fsdp2 --dp-kind fsdp1 --precision bf16+amp --init cpu"},
  }));
  check_peaks(recording,
              "llama.json --batch 2 --seq 512 --dp 4 --lora 16 --lora-targets q_proj,v_proj "
              "--gpu h100-80 " +
                  options,
              {}, {.transformers = "5.24"});
}

// The words of accelerate's fp16 scaler are four bytes each.
TEST_CASE("loops: around an Accelerator they have the peaks of the recording", "[cli][framework]") {
  const auto [recording, options] = GENERATE(table<std::string, std::string>({
      {"accelerator-gpt2-bf16", "gpt2.json --batch 2 --seq 256 --bf16"},
      {"accelerator-llama-fp16-accum2",
       "llama.json --batch 2 --seq 384 --fp16 --grad-accum 2 --grad-clip 1"},
      {"accelerator-bert-classes", "classifiers/bert.json --batch 4 --seq 128 --num-labels 3"},
  }));
  check_peaks(recording, options + " --framework accelerate --gpu h100-80", {},
              {.transformers = "5.24"});
}

// Ten more segments of 2 MiB than were recorded, of 52: why is not known.
TEST_CASE("loops: an Accelerator over ranks", "[cli][framework]") {
  check_peaks("accelerator-llama-bf16-ddp4",
              "llama.json --batch 2 --seq 256 --bf16 --dp 4 --framework accelerate --gpu h100-80",
              {.reserved = 0.018}, {.transformers = "5.24"});
}

// TRL 1.16, given the model by its name: transformers reads it onto the GPU (--init pretrained).
// The weights' order there is that of the file; the batches' masks and the logged loss are a few
// words.
TEST_CASE("loops: SFTTrainer with a model by its name has the peaks of the recording",
          "[cli][framework]") {
  const auto [recording, options] = GENERATE(
      table<std::string, std::string>({{"sft-gpt2-by-name", "gpt2.json --precision fp32"},
                                       {"sft-llama-by-name", "llama.json --precision bf16"}}));
  check_peaks(recording,
              options + " --batch 4 --seq 256 --framework trl-sft --init pretrained --gpu h100-80",
              {.allocated = 1e-3, .reserved = 5e-3}, {.transformers = "5.24"});
}

// But for the mask that is sent with a batch.
TEST_CASE("loops: TRL with ZeRO-3 has the peaks of the recording", "[cli][framework][lora]") {
  check_peaks("sft-llama-lora-zero3x4",
              "llama.json --batch 2 --seq 512 --dp 4 --lora 16 --lora-targets q_proj,v_proj "
              "--gpu h100-80 --framework trl-sft --dp-kind zero3 --zero-init --init device",
              {.reserved = 2e-3}, {.transformers = "5.24"});
}

TEST_CASE("loops: fully_shard over tensor parallelism has the peaks of the recording",
          "[cli][framework]") {
  check_peaks("parallelize-llama-fsdp2x4-tp2",
              "llama.json --batch 2 --seq 256 --dp 4 --dp-kind fsdp2 --tp 2 --tp-kind dtensor "
              "--init meta --param-dtype bf16 --reduce-dtype fp32 --gpu h100-80",
              {}, {.transformers = "5.24"});
}

TEST_CASE("loops: what one types first has the peaks of the recording", "[cli][framework][long]") {
  const auto [recording, options] = GENERATE(table<std::string, std::string>({
      {"script-gpt2", "gpt2.json --batch 2 --seq 256 --init device"},
      {"script-llama-bf16", "llama.json --batch 2 --seq 512 --precision bf16"},
      {"trainer-gpt2", "gpt2.json --batch 2 --seq 256 --framework trainer"},
      {"trainer-qwen2-bf16", "qwen2.json --batch 2 --seq 384 --precision bf16 --framework trainer"},
      {"trainer-gpt2-bf16-amp",
       "gpt2.json --batch 2 --seq 384 --framework trainer --precision bf16+amp"},
      {"trainer-llama-full-accum2",
       "llama.json --batch 2 --seq 512 --bf16 --framework trainer --gradient-checkpointing "
       "--grad-accum 2"},
      {"trainer-llama-lora-bf16-amp",
       "llama.json --batch 2 --seq 512 --precision bf16+amp --framework trainer --checkpoint full "
       "--lora 8"},
      {"trainer-llama-ddp4", "llama.json --batch 2 --seq 512 --bf16 --framework trainer --dp 4"},
      {"accelerate-llama-fsdp2x4",
       "llama.json --batch 2 --seq 512 --framework accelerate-fsdp2 --dp 4 --init cpu"},
      {"accelerate-qwen2-fsdp2x4",
       "qwen2.json --batch 2 --seq 384 --framework accelerate-fsdp2 --dp 4 --init cpu"},
      {"torchtitan-full-fsdp8",
       "titan.json --batch 2 --seq 1024 --framework torchtitan --dp 8 --checkpoint full"},
      {"torchtitan-one-gpu", "titan.json --batch 2 --seq 1024 --framework torchtitan"},
      {"torchtune-llama", "torchtune-llama.json --batch 2 --seq 512 --framework torchtune"},
      {"torchtune-qwen2-full",
       "torchtune-qwen2-full.json --batch 2 --seq 512 --framework torchtune --checkpoint full "
       "--grad-accum 2"},
      {"torchtune-fsdp8-full",
       "torchtune-fsdp8-full.json --batch 2 --seq 512 --framework torchtune --dp 8 "
       "--checkpoint full"},
      {"torchtune-fsdp4-offload",
       "torchtune-fsdp8-full.json --batch 2 --seq 512 --framework torchtune --dp 4 "
       "--checkpoint full --offload params"},
      {"torchtune-lora-dropout-full",
       "torchtune-llama.json --batch 2 --seq 512 --framework torchtune --lora 8 "
       "--lora-dropout 0.05 --checkpoint full --grad-accum 2"},
      {"torchtune-lora-head",
       "torchtune-fsdp8-full.json --batch 2 --seq 512 --framework torchtune --lora 8 "
       "--lora-targets q_proj,v_proj,lm_head"},
      {"torchtune-dora-llama3",
       "torchtune-fsdp8-full.json --batch 2 --seq 512 --framework torchtune --lora 8 --dora"},
      {"torchtune-lora-fsdp8-full",
       "torchtune-fsdp8-full.json --batch 2 --seq 512 --framework torchtune --lora 8 --dp 8 "
       "--checkpoint full"},
      {"lightning-gpt2-amp", "gpt2.json --batch 2 --seq 256 --framework lightning --bf16"},
  }));
  check_peaks(recording, options + " --gpu h100-80 --steps 4");
}

TEST_CASE("loops: Trainer's batches, prefetches and caches have the peaks of the recordings",
          "[cli][framework]") {
  const auto [recording, options] = GENERATE(table<std::string, std::string>({
      {"trainer-llama-accum4", "llama.json --seq 512 --grad-accum 4"},
      {"trainer-llama-fsdp1-none", "llama.json --seq 512 --dp 4 --dp-kind fsdp1"},
      {"trainer-llama-fsdp1-pre",
       "llama.json --seq 512 --dp 4 --dp-kind fsdp1 --backward-prefetch pre"},
      {"trainer-llama-fsdp1-post",
       "llama.json --seq 512 --dp 4 --dp-kind fsdp1 --backward-prefetch post"},
      {"trainer-t5-ddp4", "t5.json --seq 256 --dp 4"},
  }));
  check_peaks(recording, options + " --batch 2 --framework trainer --bf16 --gpu h100-80 --steps 3");
}

// Where a gradient is reduced, and whether NCCL's stream holds it, decides what a late GPU keeps.
TEST_CASE("loops: flat parameters on a GPU that does not keep up have the recorded peaks",
          "[cli][framework]") {
  const std::string lag = GENERATE("100", "1000");
  check_peaks("fsdp1-llama-lag" + lag,
              "llama.json --batch 2 --seq 512 --precision fp32 --gpu h100-80 --steps 3 --dp 4 "
              "--dp-kind fsdp1 --use-orig-params=false --event-lag " +
                  lag);
}

TEST_CASE("loops: fully_shard gathers as often as what it is told to free demands",
          "[cli][framework]") {
  const auto [recording, reshard] =
      GENERATE(table<std::string, std::string>({{"fully-shard-untold", "always"},
                                                {"fully-shard-true", "all"},
                                                {"fully-shard-false", "never"}}));
  const std::string options =
      "llama.json --batch 2 --seq 512 --gpu h100-80 --steps 3 --precision fp32 --dp 4 --dp-kind "
      "fsdp2 --param-dtype bf16 --reduce-dtype fp32 --reshard " +
      reshard;
  check_peaks(recording, options);
  const auto recorded = json_of("replay " + kLoops + recording + ".hwt.xz");
  const auto simulated = json_of(
      "simulate --cudnn-workspaces none --rank 0 --torch 2.15 --transformers 5.23 --model " +
      kLoops + options);
  CHECK(simulated.at("counts").at("allocs") ==
        recorded.at("devices").at(0).at("counts").at("allocs"));
}

TEST_CASE("loops: Muon on shards of fully_shard makes the requests of the recordings",
          "[cli][framework]") {
  const auto [recording, rank, options] = GENERATE(table<std::string, std::string, std::string>(
      {{"muon-fsdp4-rank1", "1", "muon-llama.json --dp 4"},
       {"muon-fsdp3-rank2", "2", "muon-llama-one-layer.json --dp 3"}}));
  const std::string plan =
      options +
      " --dp-kind fsdp2 --optimizer muon --batch 2 --seq 64 --precision bf16 --gpu h100-80 "
      "--steps 3 --engine model";
  const Run run{.rank = rank, .torch = "2.15", .transformers = "5.24"};
  check_peaks(recording, plan, {.allocated = 1e-9, .reserved = 1e-9}, run);
  const auto recorded = json_of("replay " + kLoops + recording + ".hwt.xz");
  const auto simulated = json_of("simulate --cudnn-workspaces none --rank " + rank +
                                 " --torch 2.15 --transformers 5.24 --model " + kLoops + plan);
  CHECK(simulated.at("counts").at("allocs") ==
        recorded.at("devices").at(0).at("counts").at("allocs"));
}

namespace {

/// How many requests of optimizer steps only one of recording and simulation has.
std::int64_t different_in_optimizer(const std::string& recording, const std::string& options,
                                    const std::string& rank) {
  const test::TempDir folder;
  const std::string simulated = folder / "simulated.hwt";
  const CommandRun made = run_line("generate --torch 2.15 --rank " + rank + " --model " + kLoops +
                                   options + " --output " + simulated);
  INFO(made.err);
  REQUIRE(made.code == ExitCode::ok);
  const auto report = json_of("diff " + kLoops + recording + ".hwt.xz " + simulated +
                              " --view requests --phase optimizer");
  REQUIRE(report.at("phases").as_array().size() == 3);
  std::int64_t different = 0;
  for (const auto& phase : report.at("phases").as_array()) {
    REQUIRE(phase.at("first").at("requests").to_number<std::int64_t>() > 100);
    different += phase.at("only_first").to_number<std::int64_t>() +
                 phase.at("only_second").to_number<std::int64_t>();
  }
  return different;
}

}  // namespace

TEST_CASE("loops: Megatron-Core's Muon on tensor- and pipeline-parallel ranks", "[cli][megatron]") {
  const auto [recording, rank, options] = GENERATE(table<std::string, std::string, std::string>({
      {"megatron-muon-tp2", "0", "megatron-muon.json --tp 2"},
      {"megatron-muon-tp2-blockwise-rank1", "1",
       "megatron-muon.json --tp 2 --muon-tp-mode blockwise"},
      {"megatron-muon-tp2-distributed-rank1", "1",
       "megatron-muon.json --tp 2 --muon-tp-mode distributed"},
      {"megatron-muon-tp2-nesterov", "0",
       "megatron-muon.json --tp 2 --muon-nesterov --muon-split-qkv false"},
      {"megatron-muon-pp2-rank1", "1", "megatron-muon.json --pp 2 --grad-accum 4"},
      {"megatron-muon-pp2-chunks", "0",
       "megatron-muon-4.json --pp 2 --pp-schedule interleaved --pp-chunks 2 --grad-accum 4"},
      {"megatron-muon-tp2-pp2-zero1-rank7", "7",
       "megatron-muon-4.json --tp 2 --sp --pp 2 --dp 4 --dp-kind zero1 --grad-accum 2"},
  }));
  const std::string plan =
      options +
      " --framework megatron --transformer-impl local --optimizer muon --batch 2 --seq 256 "
      "--checkpoint full --wgrad-fusion "
      "false --rope-fusion false --vocab-divisor 1 --gpu h100-80 --steps 3";
  CAPTURE(recording);
  CHECK(different_in_optimizer(recording, plan, rank) == 0);
  // The simulation keeps a batch's ids until the next one, and an interleaved stage more outputs.
  const double allocated = recording == "megatron-muon-pp2-chunks" ? 5e-3 : 2e-4;
  check_peaks(recording, plan, {.allocated = allocated, .reserved = 1e-9}, {.rank = rank});
}

TEST_CASE("loops: Megatron-Core's Muon of mixtures", "[cli][megatron]") {
  const auto [recording, rank, options] = GENERATE(table<std::string, std::string, std::string>(
      {{"megatron-muon-experts", "0", "--dp 2"},
       {"megatron-muon-experts-ep2-rank1", "1", "--dp 4 --ep 2"},
       {"megatron-muon-experts-ep2-zero1-rank6", "6", "--dp 8 --ep 2 --dp-kind zero1"},
       {"megatron-muon-experts-ep2-tp2-rank3", "3", "--dp 2 --ep 2 --tp 2 --sp"}}));
  CAPTURE(recording);
  CHECK(different_in_optimizer(recording,
                               "megatron-muon-experts.json " + options +
                                   " --framework megatron --transformer-impl local --optimizer "
                                   "muon --batch 2 --seq 256 --checkpoint full "
                                   "--wgrad-fusion false --rope-fusion false --vocab-divisor 1 "
                                   "--moe-capacity-factor 1.25 --gpu h100-80 --steps 3",
                               rank) == 0);
}

TEST_CASE("loops: Muon on shards of FSDP1 fails in PyTorch, on those of HSDP it is left to it",
          "[cli][framework]") {
  const auto told = [](const std::string& kind) {
    const auto gap =
        run_line("simulate --engine model --optimizer muon --dp 4 --dp-kind " + kind + " --model " +
                 kLoops + "muon-llama.json --precision bf16 --gpu h100-80");
    CHECK(gap.code == ExitCode::usage);
    return gap.err;
  };
  CHECK_THAT(told("fsdp1"), Catch::Contains("Muon only supports 2D parameters"));
  CHECK_THAT(told("fsdp1 --strategy no_shard"), Catch::Contains("--engine torch"));
  CHECK_THAT(told("fsdp2 --dp-replicate 2"), Catch::Contains("--engine torch"));
}

TEST_CASE("loops: context_parallel() around transformers' models has the peaks of the recordings",
          "[cli][framework][cp]") {
  const std::string plain = " --framework hf --dp-kind fsdp2 --steps 3";
  const std::string mixed = plain + " --param-dtype bf16 --reduce-dtype fp32";
  const std::string prepared = " --framework accelerate-fsdp2 --init cpu --steps 3";
  const auto [recording, rank, options] =
      GENERATE_COPY(table<std::string, std::string, std::string>({
          {"cp-llama", "0", "llama.json --seq 1024 --dp 2 --cp 2 --gpu h100-80" + mixed},
          {"cp-llama-a100-rank1", "1", "llama.json --seq 1024 --dp 2 --cp 2 --gpu a100-80" + mixed},
          {"cp4-qwen3-rank2", "2",
           "cp-qwen3.json --batch 2 --seq 1536 --dp 2 --cp 4 --gpu h100-80" + mixed},
          {"cp-mixtral-rank3", "3",
           "cp-mixtral.json --batch 2 --seq 1024 --dp 2 --cp 2 --gpu h100-80" + mixed},
          {"cp-gpt2", "0", "cp-gpt2.json --batch 2 --seq 1024 --dp 2 --cp 2 --gpu a100-80" + mixed},
          {"cp-opt", "0", "cp-opt.json --batch 2 --seq 1024 --dp 2 --cp 2 --gpu a100-80" + mixed},
          {"cp-llama-lora", "0",
           "cp-llama.json --batch 2 --seq 1024 --dp 2 --cp 2 --lora 8 --gpu h100-80" + mixed},
          {"cp-llama-fp32", "0",
           "cp-llama.json --batch 2 --seq 1024 --dp 2 --cp 2 --gpu a100-80" + plain},
          {"cp-llama-amp-rank1", "1",
           "cp-llama.json --batch 3 --seq 1024 --dp 2 --cp 2 --bf16 --gpu a100-80" + plain},
          {"cp-accelerate-llama", "0",
           "llama.json --seq 1024 --dp 2 --cp 2 --use-cache false --gpu h100-80" + prepared},
          {"cp4-accelerate-qwen3-full-rank1", "1",
           "cp-qwen3.json --batch 2 --seq 1024 --cp 4 --checkpoint full --gpu h100-80" + prepared},
      }));
  check_peaks(recording, options, {}, {.rank = rank});
}

TEST_CASE("loops: context_parallel() of PyTorch 2.12 has the peaks of its recording",
          "[cli][framework][cp]") {
  check_peaks("cp-llama-torch2.12",
              "cp-llama.json --batch 2 --seq 1024 --dp 2 --cp 2 --gpu h100-80 --framework hf "
              "--dp-kind fsdp2 --steps 3 --param-dtype bf16 --reduce-dtype fp32",
              {}, {.torch = "2.12"});
}

// Until 5.20 the bias of T5's positions is a mask whose last dimension is not contiguous: the
// encoder's attention runs in the math kernel.
TEST_CASE("loops: T5's sdpa of transformers 5.18 has the peaks of its recording",
          "[cli][framework]") {
  check_peaks("t5-transformers5.18",
              "t5-relu.json --batch 2 --seq 128 --framework torch --init device --attention sdpa "
              "--gpu a100-80 --steps 3 --optimizer-impl foreach",
              {}, {.transformers = "5.18"});
}

TEST_CASE("loops: torchtitan's tensor and context parallelism are near the recordings",
          "[cli][framework]") {
  const auto [recording, options] = GENERATE(table<std::string, std::string>({
      {"torchtitan-full-tp2-fsdp4", "--batch 2 --dp 4 --tp 2"},
      {"torchtitan-full-cp2-fsdp4", "--batch 1 --dp 4 --cp 2"},
  }));
  // Small models: a block more or less that was not split shows.
  check_peaks(recording,
              "titan.json --seq 1024 --framework torchtitan --checkpoint full --gpu h100-80 "
              "--steps 4 " +
                  options,
              {.allocated = 0.01, .reserved = 0.04});
}

// tools/python/frameworks/users/train_colossalai.py, whose GPT has Colossal-AI's layers.
TEST_CASE("loops: Colossal-AI's 2D, 2.5D and 3D have the peaks of the recordings",
          "[cli][framework]") {
  const auto [recording, rank, options] = GENERATE(table<std::string, std::string, std::string>({
      {"grid-2d", "0", "grid.json --batch 4 --seq 256 --tp 4 --tp-kind 2d"},
      {"grid-2d-fp16-rank3", "3",
       "grid.json --batch 4 --seq 256 --tp 4 --tp-kind 2d --precision fp16"},
      {"grid-2.5d", "0", "grid.json --batch 4 --seq 256 --tp 8 --tp-kind 2.5d --tp-depth 2"},
      {"grid-2.5d-bf16-rank6", "6",
       "grid.json --batch 4 --seq 256 --tp 8 --tp-kind 2.5d --tp-depth 2 --precision bf16"},
      {"grid-3d", "0", "grid.json --batch 4 --seq 256 --tp 8 --tp-kind 3d"},
      {"grid-3d-fp16-rank5", "5",
       "grid.json --batch 4 --seq 256 --tp 8 --tp-kind 3d --precision fp16"},
      {"grid-2d-of-9-bf16-rank4", "4",
       "grid-other.json --batch 6 --seq 192 --tp 9 --tp-kind 2d --precision bf16"},
      {"grid-2.5d-of-18-fp16-rank10", "10",
       "grid-other.json --batch 3 --seq 200 --tp 18 --tp-kind 2.5d --tp-depth 2 --precision fp16"},
  }));
  check_peaks(recording, options + " --gpu a100-80 --steps 3", {.allocated = 1e-9},
              {.rank = rank, .torch = "2.6", .transformers = "5.12"});
}

TEST_CASE("loops: a cube of 27 ranks has the peaks of its recording", "[cli][framework]") {
  check_peaks("grid-3d-of-27-h100-rank13",
              "grid-other.json --batch 9 --seq 128 --tp 27 --tp-kind 3d --gpu h100-80 --steps 3",
              {.allocated = 1e-9}, {.rank = "13", .torch = "2.6", .transformers = "5.12"});
}

// tools/python/frameworks/users/train_ring_attention.py: Colossal-AI's
// TransformerSelfAttentionRing.
TEST_CASE("loops: ring self-attention has the peaks of the recordings", "[cli][framework]") {
  const auto [recording, rank, options] = GENERATE(table<std::string, std::string, std::string>({
      {"ring-of-2", "0", "ring.json --batch 4 --seq 128 --cp 2"},
      {"ring-of-2-fp16-rank1", "1", "ring.json --batch 4 --seq 128 --cp 2 --precision fp16"},
      {"ring-of-4-rank2", "2", "ring-other.json --batch 2 --seq 512 --cp 4"},
      {"ring-of-4-bf16-rank3", "3",
       "ring.json --batch 3 --seq 128 --cp 4 --precision bf16 --attention-mask full"},
      {"ring-of-4-fp16", "0",
       "ring-other.json --batch 2 --seq 512 --cp 4 --precision fp16 --attention-mask full"},
  }));
  check_peaks(recording, options + " --cp-kind ring-self-attention --gpu a100-80 --steps 3",
              {.allocated = 1e-9}, {.rank = rank, .torch = "2.6", .transformers = "5.12"});
}

TEST_CASE("loops: a model spread over three GPUs of one process has the peaks of the recordings",
          "[cli][framework]") {
  const auto [recording, device, options] = GENERATE(table<std::string, std::string, std::string>({
      {"naive-mistral-device1", "1", "naive-mistral.json --precision fp32"},
      {"naive-qwen2-device0", "0", "naive-qwen2.json --precision fp32"},
      {"naive-qwen3-device2", "2", "naive-qwen3.json --precision bf16"},
      {"naive-gemma-device0", "0", "naive-gemma.json --precision fp32"},
  }));
  check_peaks(recording,
              options +
                  " --framework torch --init cpu --pp 3 --pp-schedule naive --batch 2 --seq 128 "
                  "--gpu a100-80 --steps 3",
              {.allocated = 1e-9}, {.rank = device});
}

TEST_CASE("loops: cases drawn at random have the peaks of their recordings", "[cli][framework]") {
  const auto [recording, options] = GENERATE(table<std::string, std::string>({
      {"drawn-script-mistral", "--batch 2 --seq 128 --gpu h100-80 --precision fp32"},
      {"drawn-trainer-qwen2-fsdp2",
       "--batch 3 --seq 1000 --gpu h100-80 --framework trainer --bf16 --dp 8 --dp-kind fsdp2"},
      {"drawn-accelerate-gpt2",
       "--batch 2 --seq 200 --gpu a100-80 --framework accelerate-fsdp2 --dp 4 --checkpoint full "
       "--grad-clip 1"},
      {"drawn-sft-qwen3-lora",
       "--batch 1 --seq 512 --gpu h200 --framework trl-sft --dp 4 --lora 8 --grad-accum 2"},
      {"drawn-sft-mistral-bf16",
       "--batch 3 --seq 512 --gpu l40s --framework trl-sft --precision bf16 --checkpoint none"},
  }));
  check_peaks(recording, recording + ".json " + options);
}

}  // namespace loops_test
