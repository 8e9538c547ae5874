// Recorded runs of models in 4 and 8 bits, and with products in float8 (tests/data/quantized),
// beside what one types first.
#include <algorithm>
#include <fstream>
#include <sstream>
#include <unordered_map>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;

namespace quantized_test {

namespace {

const std::string kQuantized = HIGHWATER_TEST_DATA "/quantized/";
const std::string kLoops = HIGHWATER_TEST_DATA "/loops/";

boost::json::object peaks_of(const boost::json::object& run) {
  return run.at("peak").as_object();
}

struct Case {
  std::string recording;
  std::string options;
};

std::string recording_of(const Case& run) {
  return kQuantized + run.recording + ".hwt.xz";
}

std::string plan_of(const Case& run) {
  const auto says = [&](const char* option) {
    return run.options.find(option) != std::string::npos;
  };
  const std::string torch = run.recording.ends_with("torch2.7") ? "2.7" : "2.15";
  return " --engine model --gpu h100-80 --cudnn-workspaces none --torch " + torch +
         " --transformers 5.23 " + (says("--float8") || says("--lora ") ? "" : "--lora 16 ") +
         (says("--precision") ? "" : "--precision bf16 ") + "--model " + run.options;
}

/// By how many bytes the simulation is above the recording.
std::int64_t above(const boost::json::object& simulated, const boost::json::object& recorded,
                   const char* peak) {
  return simulated.at(peak).to_number<std::int64_t>() - recorded.at(peak).to_number<std::int64_t>();
}

void check_peaks(const Case& run) {
  const auto recorded =
      peaks_of(json_of("replay " + recording_of(run)).at("devices").at(0).as_object());
  const auto simulated = peaks_of(json_of("simulate" + plan_of(run)));
  for (const char* peak :
       {"requested_bytes", "allocated_bytes", "active_bytes", "reserved_bytes"}) {
    CAPTURE(run.recording, peak);
    CHECK(above(simulated, recorded, peak) == 0);
  }
}

/// "+BYTES" of each request and "-N" of each free of the request number N, in order.
std::vector<std::string> requests_in(const std::string& text_trace) {
  std::ifstream file(text_trace);
  std::unordered_map<std::string, std::size_t> numbers;
  std::vector<std::string> requests;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string block;
    std::string bytes;
    words >> kind >> block >> bytes;
    if (kind == "a") {
      numbers[block] = numbers.size();
      requests.push_back("+" + bytes);
    } else if (kind == "f") {
      requests.push_back("-" + std::to_string(numbers.at(block)));
    }
  }
  return requests;
}

/// What `line`, followed by a file's name, writes.
std::vector<std::string> requests_of(const std::string& line) {
  const test::TempDir folder;
  const std::string file = folder / "run.trace";
  REQUIRE(run_line(line + " " + file).code == ExitCode::ok);
  return requests_in(file);
}

/// Sizes of the requests of 512 bytes and more, in their order.
std::vector<std::string> larger_requests_of(const std::string& line) {
  constexpr std::int64_t kSmallest = 512;
  std::vector<std::string> requests = requests_of(line);
  std::erase_if(requests, [](const std::string& request) {
    return request.front() == '-' || std::stoll(request) < kSmallest;
  });
  return requests;
}

/// torchtune's recipe over the model of tests/data/loops that is named first.
Case recipe(const std::string& name, const std::string& options) {
  return {"torchtune-nf4-" + name,
          kLoops + options + " --batch 2 --framework torchtune --lora 8 --quantize nf4"};
}

std::vector<Case> recipe_cases() {
  const std::string query_and_value = " --lora-targets q_proj,v_proj";
  return {recipe("llama", "torchtune-llama.json --seq 512"),
          recipe("torch2.7", "torchtune-llama.json --seq 512"),
          recipe("dropout-full",
                 "torchtune-llama.json --seq 512 --lora-dropout 0.05 --checkpoint full "
                 "--grad-accum 2"),
          recipe("llama3-full",
                 "torchtune-fsdp8-full.json --seq 512 --checkpoint full" + query_and_value),
          recipe("dora", "torchtune-fsdp8-full.json --seq 512 --dora"),
          recipe("head", "torchtune-fsdp8-full.json --seq 384" + query_and_value + ",lm_head"),
          recipe("qwen2-full",
                 "torchtune-qwen2-full.json --seq 512 --checkpoint full" + query_and_value)};
}

/// A small model of a family, its adapters in all linear layers.
Case family(const std::string& name, const std::string& weights) {
  return {"script-" + name, kQuantized + "families/" + name +
                                ".json --batch 2 --seq 128 --lora-targets all-linear --quantize " +
                                weights};
}

std::vector<Case> all_cases() {
  const std::string llama = kLoops + "llama.json --batch 2 --seq 512 --quantize ";
  return {
      {"script-nf4-double", llama + "nf4 --double-quant"},
      {"script-nf4-double-checkpointed", llama + "nf4 --double-quant --checkpoint full"},
      {"script-int8-checkpointed", llama + "int8 --checkpoint full"},
      {"script-fp4-qwen2", kLoops + "qwen2.json --batch 2 --seq 384 --quantize fp4 "
                                    "--lora-targets all-linear"},
      {"script-int8-mistral", kQuantized + "mistral.json --batch 4 --seq 200 --quantize int8 "
                                           "--lora-targets all-linear"},
      {"script-nf4-gemma", kQuantized + "gemma.json --batch 3 --seq 256 --quantize nf4 "
                                        "--lora-targets all-linear"},
      {"script-nf4-double-qwen3", kQuantized + "qwen3.json --batch 1 --seq 640 --quantize nf4 "
                                               "--double-quant --quant-compute-dtype fp32"},
      {"script-nf4-double-dora", llama + "nf4 --double-quant --dora"},
      {"script-int8-dora", llama + "int8 --dora"},
      {"script-dora-dropout", kLoops + "qwen2.json --batch 2 --seq 256 --dora --lora-dropout 0.1"},
      {"script-nf4-few-rows",
       kLoops + "llama.json --batch 1 --seq 24 --quantize nf4 --double-quant"},
      {"script-nf4-double-ddp", llama + "nf4 --double-quant --dp 2"},
      {"script-int8-qwen2-ddp",
       kLoops + "qwen2.json --batch 3 --seq 320 --quantize int8 --lora-targets all-linear "
                "--checkpoint full --checkpoint-impl nonreentrant --dp 4"},
      {"accelerate-nf4-double-fsdp2", llama + "nf4 --double-quant --quant-storage bf16 "
                                              "--framework accelerate-fsdp2 --dp 4"},
      {"accelerate-fp4-qwen3-fsdp2",
       kQuantized + "qwen3.json --batch 2 --seq 333 --quantize fp4 --double-quant "
                    "--quant-storage bf16 --lora-targets all-linear --framework accelerate-fsdp2 "
                    "--dp 8"},
      {"accelerate-fp4-qwen2-fsdp2",
       kLoops + "qwen2.json --batch 1 --seq 384 --quantize fp4 --quant-storage bf16 "
                "--lora-targets all-linear --checkpoint full --checkpoint-impl nonreentrant "
                "--framework accelerate-fsdp2 --dp 8"},
      {"accelerate-nf4-mistral-fsdp2", kQuantized + "mistral.json --batch 2 --seq 200 --quantize "
                                                    "nf4 --framework accelerate-fsdp2 --dp 4"},
      {"script-fp4-mistral-fsdp2",
       kQuantized + "mistral.json --batch 3 --seq 128 --quantize fp4 --quant-storage bf16 "
                    "--lora-targets all-linear --dp 2 --dp-kind fsdp2"},
      {"script-nf4-double-zero2", llama + "nf4 --double-quant --dp 4 --dp-kind zero2"},
      {"script-int8-qwen2-zero1",
       kLoops + "qwen2.json --batch 2 --seq 384 --quantize int8 --lora-targets all-linear "
                "--checkpoint full --grad-clip 1 --grad-accum 2 --dp 4 --dp-kind zero1"},
      family("olmo2", "nf4 --double-quant"),
      family("phi3", "nf4 --double-quant"),
      family("gemma2", "fp4"),
      family("cohere", "nf4 --double-quant"),
      family("gpt_neox", "nf4 --double-quant"),
      family("starcoder2", "int8"),
      family("bloom", "int8"),
      family("opt", "nf4"),
      family("gpt_neo", "nf4 --double-quant"),
      family("gptj", "int8"),
      family("gpt_bigcode", "nf4"),
      family("codegen", "fp4"),
      family("gpt2", "nf4 --double-quant"),
      {"script-gpt2-int8-checkpointed", family("gpt2", "int8 --checkpoint full").options},
      {"script-qwen3_moe", kQuantized +
                               "families/qwen3_moe.json --batch 2 --seq 128 --quantize nf4 "
                               "--double-quant --prepare-kbit false "
                               "--lora-targets q_proj,v_proj"},
      {"script-olmoe", kQuantized + "families/olmoe.json --batch 2 --seq 128 --quantize fp4 "
                                    "--prepare-kbit false --lora-targets q_proj,v_proj"},
      {"script-read-nf4", kQuantized + "llama-bnb-4bit.json --batch 2 --seq 512"},
      {"script-read-int8", kQuantized + "llama-bnb-8bit.json --batch 2 --seq 256"},
      {"script-int8-weight-only-checkpointed", llama + "int8-weight-only --checkpoint full"},
      {"script-int8-weight-only-qwen2",
       kLoops + "qwen2.json --batch 2 --seq 384 --quantize int8-weight-only "
                "--lora-targets all-linear"},
      {"script-int8-weight-only-dora",
       kLoops + "llama.json --batch 2 --seq 256 --quantize int8-weight-only --dora"},
      {"script-int8-weight-only-gemma2", family("gemma2", "int8-weight-only").options},
      {"script-int8-weight-only-bloom", family("bloom", "int8-weight-only").options},
      {"script-float8-qwen2-checkpointed",
       kLoops + "qwen2.json --batch 2 --seq 384 --float8 --checkpoint full"},
      {"script-float8-amp",
       kLoops + "llama.json --batch 2 --seq 256 --float8 --precision amp-bf16"},
      {"script-float8-ddp", kLoops + "llama.json --batch 2 --seq 128 --float8 --dp 4"},
      {"script-float8-fsdp2",
       kLoops + "llama.json --batch 2 --seq 128 --float8 --dp 4 --dp-kind fsdp2 --init device"}};
}

}  // namespace

// Trainer and SFTTrainer make some numbers of 4 and 8 bytes in another order, and SFTTrainer sends
// a mask of 2 * 512 numbers that nobody reads.
// But for one block of 64 bytes.
TEST_CASE("quantised: a mixture of transformers 4 is a list of linear layers", "[cli][quantized]") {
  const auto recorded =
      peaks_of(json_of("replay " + kQuantized + "script-mixtral-transformers4.57.hwt.xz")
                   .at("devices")
                   .at(0)
                   .as_object());
  const auto simulated = peaks_of(json_of(
      "simulate --engine model --gpu h100-80 --torch 2.15 --transformers 4.57 --model " + kLoops +
      "mixtral.json --batch 2 --seq 128 --precision bf16 --lora 16 --lora-targets q_proj,v_proj "
      "--quantize nf4 --double-quant --prepare-kbit=false"));
  CHECK(above(simulated, recorded, "allocated_bytes") <= 512);
  CHECK(above(simulated, recorded, "reserved_bytes") == 0);
}

// axolotl 0.19, loaders/model.py _build_model: nothing is on the GPU before it is sharded. By hand,
// of 8.03 billion parameters over 8 ranks: 0.4 GB of codes, 0.1 GB of scales, which stay whole, and
// while the model is prepared the embedding and the head, 1.05 GB each, beside their shards.
TEST_CASE("quantised: fully_shard of a model that was quantised on the host",
          "[cli][quantized][long]") {
  const auto loads = [](const std::string& init) {
    const auto run = json_of(
        "simulate --model llama-3-8b --framework trainer --precision bf16+amp --quantize nf4 "
        "--double-quant --quant-storage bf16 --lora 16 --dp 8 --dp-kind fsdp2 --checkpoint full "
        "--seq 512 --steps 1 --gpu h100-80 --init " +
        init);
    const auto& phase = run.at("phases").at(0);
    REQUIRE(phase.at("phase").as_string() == "init");
    return phase.at("peak").at("allocated_bytes").to_number<double>() / 1e9;
  };
  CHECK(loads("meta") > 2.6);
  CHECK(loads("meta") < 3.1);
  CHECK(loads("cpu") > 5.5);
}

// transformers 4.46.3, modeling_utils.py _load_state_dict_into_meta_model: under FSDP each weight
// leaves the GPU once it is quantised; 5.24 keeps all of them: half a byte for each of the 12.7
// billion elements in Llama 2 13B's blocks, 5.9 GiB.
TEST_CASE("quantised: what a rank of FSDP1 loads depends on transformers",
          "[cli][quantized][long]") {
  const auto loads = [](const std::string& releases) {
    const auto run = json_of(
        "simulate --model llama-2-13b --framework trl-sft --precision bf16+amp --quantize nf4 "
        "--double-quant --quant-storage bf16 --lora 8 --dp 2 --dp-kind fsdp1 --offload both "
        "--checkpoint full --checkpoint-impl reentrant --seq 64 --gpu h100-80 " +
        releases);
    return run.at("peak").at("reserved_bytes").to_number<std::int64_t>() >> 20;
  };
  CHECK(loads("--torch 2.6 --transformers 4.46") < 5'000);
  CHECK(loads("--torch 2.15 --transformers 5.24") > 6'000);
}

TEST_CASE("quantised: Trainer and SFTTrainer over several ranks", "[cli][quantized][long]") {
  constexpr std::int64_t kUnsimulated = 2 * 512 * 8 + 64;
  // The count of labels, divided in 8 bytes instead of 4, and of ZeRO-3's checks a byte.
  constexpr std::int64_t kCounted = 4 + 1;
  const std::string plan = kLoops + "llama.json --batch 2 --seq 512 --quantize nf4 --double-quant ";
  const std::string shards = "--dp 4 --quant-storage bf16 --dp-kind ";
  const std::string trainer = plan + "--framework trainer --precision bf16+amp ";
  for (const Case& run : std::vector<Case>{
           {"trainer-nf4-double-ddp", trainer + "--checkpoint full --dp 4"},
           {"trainer-nf4-double-fsdp2", trainer + "--checkpoint full " + shards + "fsdp2"},
           {"trainer-nf4-double-fsdp1", trainer + "--backward-prefetch pre " + shards + "fsdp1"},
           {"sft-nf4-double-fsdp1",
            plan + "--framework trl-sft --backward-prefetch pre " + shards + "fsdp1"},
           {"trainer-nf4-double-zero2",
            plan + "--framework trainer --checkpoint full --dp 4 --dp-kind zero2"},
           {"trainer-nf4-double-zero3",
            plan + "--framework trainer --quant-storage bf16 --prepare-kbit false "
                   "--checkpoint full --dp 4 --dp-kind zero3"},
           {"sft-nf4-double-zero2",
            plan + "--framework trl-sft --precision bf16 --dp 4 --dp-kind zero2"}}) {
    const auto recorded =
        peaks_of(json_of("replay " + recording_of(run)).at("devices").at(0).as_object());
    const auto simulated = peaks_of(json_of("simulate" + plan_of(run)));
    CAPTURE(run.recording);
    CHECK(above(simulated, recorded, "reserved_bytes") == 0);
    CHECK(above(simulated, recorded, "requested_bytes") <= kCounted);
    CHECK(above(simulated, recorded, "requested_bytes") >= -kUnsimulated);
  }
}

// Prepared experts compute in fp32, one after the other; the recording has no workspaces of their
// products in the backward pass.
TEST_CASE("quantised: mixtures in fp32 have the recorded peaks", "[cli][quantized]") {
  for (const Case& run : std::vector<Case>{
           {"script-mixtral",
            kLoops + "mixtral.json --batch 2 --seq 128 --quantize nf4 --double-quant"},
           {"script-qwen2_moe", kQuantized +
                                    "families/qwen2_moe.json --batch 2 --seq 128 --quantize int8 "
                                    "--checkpoint full --lora-targets all-linear"}}) {
    check_peaks(run);
  }
}

// What the tables of positions are made of, some numbers of a head's width, is not simulated, and
// where autograd drops what a block was recomputed for, frees come in another order.
TEST_CASE("quantised: torchtune's QLoRA makes the recorded requests", "[cli][quantized]") {
  for (const Case& run : recipe_cases()) {
    check_peaks(run);
    const auto recorded = larger_requests_of("convert " + recording_of(run));
    const auto simulated = larger_requests_of("generate" + plan_of(run) + " --output");
    const auto difference = std::ranges::mismatch(recorded, simulated);
    CAPTURE(run.recording, recorded.size());
    CHECK(difference.in1 - recorded.begin() == std::ssize(recorded));
  }
}

// Sharded checkpoints are loaded in the order of their names, here in that of the model, so that
// blocks come to lie elsewhere; the loss of a step is a number more.
TEST_CASE("quantised: torchtune's QLoRA over ranks makes the recorded requests",
          "[cli][quantized]") {
  const Case run{"torchtune-nf4-fsdp4-full",
                 kQuantized +
                     "torchtune-nf4-fsdp4.json --batch 2 --seq 512 --framework torchtune "
                     "--lora 8 --quantize nf4 --checkpoint full --dp 4"};
  auto recorded = larger_requests_of("convert " + recording_of(run));
  auto simulated = larger_requests_of("generate" + plan_of(run) + " --output");
  std::ranges::sort(recorded);
  std::ranges::sort(simulated);
  CHECK(recorded == simulated);
  const auto peaks =
      peaks_of(json_of("replay " + recording_of(run)).at("devices").at(0).as_object());
  CHECK(above(peaks_of(json_of("simulate" + plan_of(run))), peaks, "requested_bytes") == -4);
}

TEST_CASE("quantised: a checkpoint in 4 bits is told, and keeps its format", "[cli][quantized]") {
  const std::string line =
      "simulate --engine model --gpu h100-80 --precision bf16 --lora 16 --model " + kQuantized +
      "llama-bnb-4bit.json --batch 1 --seq 64 ";
  CHECK_THAT(run_line(line).out, Catch::Contains("--quantize nf4 is taken"));
  const auto other = run_line(line + "--quantize int8");
  CHECK(other.code == ExitCode::usage);
  CHECK_THAT(other.err, Catch::Contains("the checkpoint's own format"));
}

// peft 0.21.2, utils/transformers_weight_conversion.py: transformers' table of merged mixtures has
// olmoe and qwen3_moe, and not qwen2_moe.
TEST_CASE("quantised: adapters on experts are left to PyTorch", "[cli][quantized]") {
  const auto simulated = [](const std::string& options) {
    return run_line(
        "simulate --engine model --gpu h100-80 --precision bf16 --lora 16 --batch 1 "
        "--seq 64 --model " +
        kQuantized + "families/" + options);
  };
  for (const char* options : {"olmoe.json --lora-targets all-linear",
                              "qwen3_moe.json --lora-targets q_proj,mlp.experts.gate_proj"}) {
    const auto gap = simulated(options);
    CHECK(gap.code == ExitCode::usage);
    CHECK_THAT(gap.err, Catch::Contains("adapters on all experts' parameters"));
  }
  CHECK(simulated("olmoe.json --lora-targets q_proj,v_proj").code == ExitCode::ok);
  CHECK(simulated("qwen2_moe.json --lora-targets all-linear").code == ExitCode::ok);
}

// ZeRO-3 makes numbers of a few bytes that are not simulated; all else has the recorded size, in
// bnb_4bit_quant_storage and in bytes, with the default limits and with small ones. Gathered codes
// of 4 bits live as long as the graph, codes of LLM.int8() are never released.
TEST_CASE("quantised: ZeRO-3 has the recorded peaks", "[cli][quantized][long]") {
  const std::string small =
      "--lora-targets all-linear --max-live-parameters 3000000 --max-reuse-distance 2000000 "
      "--prefetch-bucket-size 400000 --dp-kind zero3 ";
  for (const Case& run : std::vector<Case>{
           {"script-nf4-double-zero3", kLoops + "llama.json --batch 2 --seq 512 --quantize nf4 "
                                                "--double-quant --quant-storage bf16 "
                                                "--prepare-kbit false --dp 4 --dp-kind zero3"},
           {"script-fp4-qwen2-zero3", kLoops +
                                          "qwen2.json --batch 2 --seq 384 --quantize fp4 "
                                          "--checkpoint full --dp 4 "
                                          "--param-persistence-threshold 2000 " +
                                          small},
           {"script-nf4-mistral-zero3",
            kQuantized +
                "mistral.json --batch 2 --seq 200 --quantize nf4 --double-quant "
                "--quant-storage bf16 --prepare-kbit false --dp 8 " +
                small},
           {"script-int8-zero3",
            kLoops + "llama.json --batch 2 --seq 256 --quantize int8 --dp 4 --dp-kind zero3"}}) {
    const auto recorded =
        peaks_of(json_of("replay " + recording_of(run)).at("devices").at(0).as_object());
    const auto simulated = peaks_of(json_of("simulate" + plan_of(run)));
    CAPTURE(run.recording);
    CHECK(above(simulated, recorded, "requested_bytes") == -3);
    for (const char* peak : {"allocated_bytes", "active_bytes", "reserved_bytes"}) {
      CHECK(above(simulated, recorded, peak) == 0);
    }
  }
}

TEST_CASE("quantised: what cannot be sharded is refused", "[cli][quantized]") {
  const std::string line =
      "simulate --gpu h100-80 --engine model --precision bf16 --lora 16 --dp 4 "
      "--dp-kind fsdp2 --batch 1 --seq 64 --model " +
      kLoops + "llama.json ";
  const auto refusal = [&](const std::string& options) {
    const auto run = run_line(line + options);
    CHECK(run.code == ExitCode::usage);
    return run.err;
  };
  CHECK_THAT(refusal("--quantize int8"), Catch::Contains("lose their scales"));
  CHECK_THAT(refusal("--quantize nf4"), Catch::Contains("--quant-storage bf16"));
  CHECK_THAT(refusal("--quantize nf4 --framework torchtune --offload params"),
             Catch::Contains("parameters on the GPU"));
  CHECK_THAT(refusal("--quantize nf4 --quant-storage fp16 --param-dtype bf16"),
             Catch::Contains("use the same type for both"));
}

TEST_CASE("quantised: what torchao and its products refuse", "[cli][quantized]") {
  const std::string line =
      "simulate --engine model --precision bf16 --model " + kLoops + "llama.json --batch 1 ";
  const auto refusal = [&](const std::string& options) {
    const auto run = run_line(line + options);
    CHECK(run.code == ExitCode::usage);
    return run.err;
  };
  CHECK_THAT(refusal("--gpu h100-80 --quantize int4_weight_only --lora 16"),
             Catch::Contains("only supports int8 weights"));
  CHECK_THAT(refusal("--gpu h100-80 --quantize int8-weight-only --lora 16 --dp 2"),
             Catch::Contains("neither be broadcast by DDP nor sharded"));
  CHECK_THAT(refusal("--gpu a100-80 --float8"), Catch::Contains("capability 8.9"));
  CHECK_THAT(refusal("--gpu h100-80 --float8 --seq 100"), Catch::Contains("multiple of 16"));
}

// The simulation goes on to the end of the last step, where the recordings stop before.
TEST_CASE("quantised: plain loops make the recorded requests in their order",
          "[cli][quantized][long]") {
  for (const Case& run : all_cases()) {
    const auto recorded = requests_of("convert " + recording_of(run));
    const auto simulated = requests_of("generate" + plan_of(run) + " --output");
    const auto difference = std::ranges::mismatch(recorded, simulated);
    CAPTURE(run.recording, recorded.size());
    CHECK(difference.in1 - recorded.begin() == std::ssize(recorded));
  }
}

TEST_CASE("quantised: all four peaks are those of the recording", "[cli][quantized][long]") {
  for (const Case& run : all_cases()) {
    check_peaks(run);
  }
}

}  // namespace quantized_test
