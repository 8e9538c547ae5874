// Megatron-Core's layers by Transformer Engine, recorded
// (tools/python/frameworks/users/train_megatron.py te=1), beside the simulation of the same model.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "tests/support/command_run.hpp"
#include "tests/support/temp_dir.hpp"

using namespace highwater;

namespace transformer_engine_test {

namespace {

const std::string kRecordings = HIGHWATER_RECORDED_DATA "/transformer_engine/megatron-";
const std::string kModels = HIGHWATER_TEST_DATA "/transformer_engine/";
const std::string kPlan = " --framework megatron --te-cross-entropy --batch 2 --seq 512 --steps 3 ";

double figure(const boost::json::object& run, const char* which) {
  return run.at("peak").at(which).to_number<double>();
}

struct Case {
  std::string recording;
  std::string model;
  std::string options;
  double allocated = 1e-4;  ///< share: the script holds its tokens for less long
};

void check_against_recording(const Case& row) {
  CAPTURE(row.recording);
  const auto recorded = json_of("replay " + kRecordings + row.recording + ".hwt.xz");
  const auto simulated = json_of("simulate --model " + kModels + row.model + kPlan +
                                 "--vocab-divisor 1 " + row.options);
  const auto& device = recorded.at("devices").at(0).as_object();
  CHECK(figure(simulated, "reserved_bytes") == figure(device, "reserved_bytes"));
  CHECK(figure(simulated, "requested_bytes") / figure(device, "requested_bytes") ==
        Approx(1).epsilon(1e-4));
  CHECK(figure(simulated, "allocated_bytes") / figure(device, "allocated_bytes") ==
        Approx(1).epsilon(row.allocated));
}

/// Sizes of a text trace's allocations and, below zero, of its frees from the last to the first.
/// Left out: blocks up to the size of the tokens, which the script lets go of elsewhere.
std::vector<std::int64_t> requests_from_the_end(const std::string& line) {
  constexpr std::int64_t kTokens = 8192;
  const test::TempDir folder;
  const std::string file = folder / "run.trace";
  REQUIRE(run_line(line + " " + file).code == ExitCode::ok);
  std::ifstream in(file);
  std::map<std::string, std::int64_t> sizes;
  std::vector<std::int64_t> requests;
  for (std::string text; std::getline(in, text);) {
    std::istringstream words(text);
    std::string kind;
    std::string block;
    words >> kind >> block;
    if (kind == "a") {
      words >> sizes[block];
    }
    if ((kind == "a" || kind == "f") && sizes.at(block) > kTokens) {
      requests.push_back(kind == "a" ? sizes.at(block) : -sizes.at(block));
    }
  }
  std::ranges::reverse(requests);
  return requests;
}

}  // namespace

TEST_CASE("transformer engine: Megatron's layers have the peaks of the recordings",
          "[cli][megatron]") {
  const Case row = GENERATE(values<Case>({
      {"llama-h100", "llama.json", "--gpu h100-80"},
      {"llama-a100", "llama.json", "--gpu a100-80 --attention sdpa-cudnn"},
      {"llama-b200", "llama.json", "--gpu b200"},
      {"llama-tp2-h100", "llama.json", "--gpu h100-80 --tp 2"},
      {"llama-sp-h100", "llama.json", "--gpu h100-80 --tp 2 --sp", 2e-3},
      {"llama-recompute-h100", "llama.json", "--gpu h100-80 --checkpoint full"},
      {"llama-micro-batches-h100", "llama.json", "--gpu h100-80 --grad-accum 2"},
      {"llama-zero1-h100", "llama.json", "--gpu h100-80 --dp 2 --dp-kind zero1"},
      {"gpt-h100", "gpt2.json", "--gpu h100-80"},
      {"gpt-sp-h100", "gpt2.json", "--gpu h100-80 --tp 2 --sp"},
      {"llama-delayed-h100", "llama.json", "--gpu h100-80 --fp8-recipe delayed"},
      {"llama-delayed-b200", "llama.json", "--gpu b200 --fp8-recipe delayed"},
      {"llama-delayed-recompute-h100", "llama.json",
       "--gpu h100-80 --fp8-recipe delayed --checkpoint full"},
      {"llama-tensorwise-h100", "llama.json", "--gpu h100-80 --fp8-recipe tensorwise"},
      {"llama-blockwise-h100", "llama.json", "--gpu h100-80 --fp8-recipe blockwise"},
      {"llama-mxfp8-b200", "llama.json", "--gpu b200 --fp8-recipe mxfp8"},
      {"gpt-delayed-h100", "gpt2.json", "--gpu h100-80 --fp8-recipe delayed"},
      {"qwen3-h100", "qwen3.json", "--gpu h100-80"},
      {"llama-recompute-mlp-h100", "llama.json",
       "--gpu h100-80 --checkpoint selective-attention --recompute-modules mlp"},
  }));
  check_against_recording(row);
}

TEST_CASE("transformer engine: parts of layers that are recomputed", "[cli][megatron]") {
  const std::string selected =
      "--gpu h100-80 --checkpoint selective-attention --recompute-modules ";
  const Case row = GENERATE_COPY(values<Case>({
      {"deepseek-v2-recompute-modules-h100", "deepseek-v2.json",
       selected + "mla_up_proj,mlp,moe_act,layernorm --moe-capacity-factor 1 "
                  "--moe-router-fp32 false --moe-balancing seq-aux-loss"},
      {"mixtral-recompute-modules-h100", "mixtral.json", selected + "moe-act,layernorm"},
  }));
  check_against_recording(row);
}

TEST_CASE("transformer engine: mixtures and latent attention over ranks", "[cli][megatron]") {
  const Case row = GENERATE(values<Case>({
      {"mixtral-tp2-ep2-h100", "mixtral.json", "--gpu h100-80 --ep 2 --dp 2 --tp 2 --sp"},
      {"deepseek-v2-ep2-h100", "deepseek-v2.json",
       "--gpu h100-80 --moe-capacity-factor 1 --moe-router-fp32 false --moe-balancing seq-aux-loss "
       "--ep 2 --dp 2 --dp-kind zero1"},
      {"mixtral-etp1-h100", "mixtral.json",
       "--gpu h100-80 --ep 4 --dp 2 --dp-kind zero1 --tp 2 --sp --etp 1"},
      {"mixtral-etp1-sequential-h100", "mixtral.json",
       "--gpu h100-80 --ep 2 --tp 2 --sp --etp 1 --moe-grouped-gemm false"},
      {"mixtral-etp1-dp2-h100", "mixtral.json",
       "--gpu h100-80 --ep 2 --dp 2 --dp-kind zero1 --tp 2 --sp --etp 1"},
      {"deepseek-v3-etp1-h100", "deepseek-v3.json",
       "--gpu h100-80 --ep 4 --dp 2 --dp-kind zero1 --tp 2 --sp --etp 1"},
      {"deepseek-v3-pp2-h100", "deepseek-v3-4-layers.json",
       "--gpu h100-80 --pp 2 --grad-accum 4 --rank 0"},
  }));
  check_against_recording(row);
}

TEST_CASE("transformer engine: mixtures and latent attention have the peaks of the recordings",
          "[cli][megatron][long]") {
  const std::string limited = "--gpu h100-80 --moe-capacity-factor 1.25";
  const std::string second =
      "--gpu h100-80 --moe-capacity-factor 1 --moe-router-fp32 false --moe-balancing seq-aux-loss";
  const std::string selected = second + " --checkpoint selective-attention --recompute-modules ";
  const Case row = GENERATE_COPY(values<Case>({
      {"experts-h100", "mixtral.json", limited + " --moe-permute-fusion false"},
      {"mixtral-h100", "mixtral.json", limited},
      {"mixtral-a100", "mixtral.json",
       "--gpu a100-80 --attention sdpa-cudnn --moe-capacity-factor 1.25"},
      {"mixtral-dropless-h100", "mixtral.json", "--gpu h100-80"},
      {"mixtral-unfused-h100", "mixtral.json", "--gpu h100-80 --moe-permute-fusion false"},
      {"mixtral-sequential-h100", "mixtral.json", limited + " --moe-grouped-gemm false"},
      {"mixtral-micro-batches-h100", "mixtral.json", "--gpu h100-80 --grad-accum 2"},
      {"mixtral-ep2-h100", "mixtral.json", "--gpu h100-80 --ep 2 --dp 2"},
      {"qwen3-moe-h100", "qwen3-moe.json", "--gpu h100-80 --moe-balancing aux-loss"},
      {"qwen3-moe-ep2-h100", "qwen3-moe.json",
       "--gpu h100-80 --moe-balancing aux-loss --ep 2 --dp 2 --dp-kind zero1"},
      {"latent-h100", "latent.json", "--gpu h100-80"},
      {"deepseek-v2-h100", "deepseek-v2.json", second},
      {"deepseek-v2-recompute-h100", "deepseek-v2.json", second + " --checkpoint full"},
      {"deepseek-v2-recompute-moe-h100", "deepseek-v2.json", selected + "core-attn,moe"},
      {"deepseek-v2-recompute-shared-h100", "deepseek-v2.json", selected + "shared-experts"},
      {"deepseek-v2-lite-h100", "deepseek-v2-lite.json", "--gpu h100-80"},
      {"deepseek-v3-h100", "deepseek-v3.json", "--gpu h100-80"},
      {"deepseek-v3-b200", "deepseek-v3.json", "--gpu b200"},
      {"deepseek-v3-sp-h100", "deepseek-v3.json", "--gpu h100-80 --tp 2 --sp"},
  }));
  check_against_recording(row);
}

TEST_CASE("transformer engine: whole layers are offered in the place of their parts",
          "[cli][megatron]") {
  const std::string plan =
      "simulate --framework megatron --batch 8 --seq 2048 --gpu h100-80 --model " + kModels +
      "llama.json --checkpoint ";
  const double whole = figure(json_of(plan + "full"), "reserved_bytes");
  const CommandRun run = run_line(plan + "selective-attention --recompute-modules mlp --capacity " +
                                  std::to_string(std::llround(whole) + (1 << 21)));
  CHECK_THAT(run.out, Catch::Contains("--checkpoint full --recompute-modules core-attn"));
}

// Before them Triton measures its kernels, as often as the machine that recorded had time for.
TEST_CASE("transformer engine: the last two steps make the recorded requests in their order",
          "[cli][megatron]") {
  const std::string selected = " --checkpoint selective-attention --recompute-modules ";
  const std::string second =
      "--gpu h100-80 --moe-capacity-factor 1 --moe-router-fp32 false --moe-balancing seq-aux-loss";
  const Case row = GENERATE_COPY(values<Case>({
      {"llama-h100", "llama.json", "--gpu h100-80"},
      {"llama-recompute-mlp-h100", "llama.json", "--gpu h100-80" + selected + "mlp"},
      {"mixtral-recompute-modules-h100", "mixtral.json",
       "--gpu h100-80" + selected + "moe-act,layernorm"},
      {"deepseek-v2-recompute-modules-h100", "deepseek-v2.json",
       second + selected + "mla-up-proj,mlp,moe-act,layernorm"},
      {"deepseek-v2-recompute-shared-h100", "deepseek-v2.json",
       second + selected + "shared-experts"},
      {"deepseek-v3-h100", "deepseek-v3.json", "--gpu h100-80"},
  }));
  CAPTURE(row.recording);
  const auto recorded = requests_from_the_end("convert " + kRecordings + row.recording + ".hwt.xz");
  const auto simulated = requests_from_the_end("generate --model " + kModels + row.model + kPlan +
                                               "--vocab-divisor 1 " + row.options + " --output");
  const auto difference = std::ranges::mismatch(recorded, simulated);
  CHECK(difference.in2 - simulated.begin() > std::ssize(simulated) / 2);
}

// Published by SimuMax (tools/python/checks/measured_runs.tsv has all of its rows for decoders).
TEST_CASE("transformer engine: peaks that PyTorch printed on eight B200", "[cli][megatron]") {
  struct Measured {
    std::string options;
    double allocated_mib;
    double reserved_mib;
  };

  const Measured row = GENERATE(values<Measured>({
      {"--tp 8 --sp", 28965.36, 29816},
      {"--tp 4 --sp --dp 2", 40009.77, 41076},
      {"--pp 2 --dp 4 --rank 0", 68149.20, 70730},
      {"--pp 2 --dp 4 --rank 7", 64478.55, 64990},
      {"--cp 8 --cp-kind ulysses --seq 32768 --rank 0", 107014.15, 112310},
  }));
  const std::string sequence = row.options.find("--seq") == std::string::npos ? " --seq 4096" : "";
  CAPTURE(row.options);
  const auto simulated = json_of(
      "simulate --framework megatron --te-cross-entropy --transformer-engine 2.11 --torch 2.10 "
      "--gpu b200 --batch 1 --grad-accum 4 --dp-kind zero1 --model " +
      kModels + "llama-70b-12-layers.json " + row.options + sequence);
  constexpr double kMib = 1 << 20;
  CHECK(figure(simulated, "allocated_bytes") / kMib == Approx(row.allocated_mib).epsilon(1e-5));
  CHECK(figure(simulated, "reserved_bytes") / kMib == Approx(row.reserved_mib).epsilon(0.01));
}

TEST_CASE("transformer engine: DeepSeek's peaks that PyTorch printed on eight B200",
          "[cli][megatron]") {
  const auto simulated = json_of(
      "simulate --framework megatron --te-cross-entropy --transformer-engine 2.11 --torch 2.10 "
      "--gpu b200 --batch 1 --seq 4096 --grad-accum 4 --ep 8 --dp 8 --dp-kind zero1 --rank 0 "
      "--moe-capacity-factor 1 --moe-router-fp32 false --moe-balancing seq-aux-loss --model " +
      kModels + "deepseek-v2-4-layers.json");
  constexpr double kMib = 1 << 20;
  CHECK(figure(simulated, "allocated_bytes") / kMib == Approx(46726.22).epsilon(0.001));
  CHECK(figure(simulated, "reserved_bytes") / kMib == Approx(49942).epsilon(0.003));
}

TEST_CASE("transformer engine: the release decides where cross entropy makes its gradient",
          "[cli][megatron]") {
  const auto peak = [](const std::string& release) {
    return figure(json_of("simulate --model " + kModels + "llama.json" + kPlan +
                          "--gpu h100-80 --vocab-divisor 50304 --transformer-engine " + release),
                  "allocated_bytes");
  };
  constexpr double kLogits = 2.0 * 2 * 512 * 50304;  // bytes in bf16
  const double own_type = peak("2.20");
  CHECK(peak("2.18") - own_type == Approx(kLogits).epsilon(0.02));
  CHECK(peak("2.17") < own_type - kLogits / 2);
}

TEST_CASE("transformer engine: what is not simulated of it is refused by a sentence",
          "[cli][megatron]") {
  const auto told = [](const std::string& options, const std::string& length = "128") {
    const auto run = run_line("simulate --framework megatron --seq " + length + " " + options);
    CHECK(run.code == ExitCode::usage);
    return run.err;
  };
  CHECK_THAT(told("--model mixtral-small --fp8-recipe delayed --gpu h100-80"),
             Catch::Contains("mixture of experts"));
  CHECK_THAT(told("--model qwen3-0.6b --transformer-impl local"),
             Catch::Contains("norms of queries and keys"));
  CHECK_THAT(told("--model qwen3-0.6b --fp8-recipe delayed --gpu h100-80"),
             Catch::Contains("in 8 bits yet"));
  CHECK_THAT(told("--model " + kModels +
                  "llama.json --attention eager --transformer-impl transformer-engine"),
             Catch::Contains("unfused attention"));
  CHECK_THAT(told("--model " + kModels + "llama.json --gpu v100-32"),
             Catch::Contains("compute capability 8.0"));
  const std::string llama = "--model " + kModels + "llama.json --fp8-recipe ";
  CHECK_THAT(told(llama + "delayed --gpu a100-80"), Catch::Contains("compute capability 8.9"));
  CHECK_THAT(told(llama + "mxfp8 --gpu h100-80"), Catch::Contains("Blackwell"));
  CHECK_THAT(told(llama + "delayed --gpu h100-80 --tp 2 --sp"), Catch::Contains("with sp"));
  CHECK_THAT(told(llama + "delayed --gpu h100-80 --transformer-impl local"),
             Catch::Contains("without Transformer Engine"));
  CHECK_THAT(told(llama + "mxfp8 --gpu b200 --batch 1", "136"), Catch::Contains("by 32"));
}

}  // namespace transformer_engine_test
