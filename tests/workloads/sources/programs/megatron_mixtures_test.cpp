// Megatron-LM's lines of mixtures and of latent attention: the model that they describe, and what
// they say by leaving a switch out.
#include <algorithm>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "workloads/sources/combined_words.hpp"
#include "workloads/sources/programs/megatron/layer_pattern.hpp"
#include "workloads/sources/programs/program.hpp"
#include "workloads/sources/settings/read_settings.hpp"

using namespace highwater;

namespace megatron_mixtures_test {

namespace {

OptionWords words_of_line(const std::string& options) {
  const std::string line =
      "python pretrain_gpt.py --num-layers 4 --hidden-size 1024 --ffn-hidden-size 2816"
      " --num-attention-heads 16 --swiglu --normalization RMSNorm --position-embedding-type rope"
      " --untie-embeddings-and-output-weights --disable-bias-linear --vocab-size 1024"
      " --seq-length 512 --micro-batch-size 1 --attention-dropout 0 --hidden-dropout 0 --bf16" +
      options;
  const std::vector<PlanSource> sources{plan_of_launch(read_launch_line(line, "a line"), "a line")};
  return combined_words(sources, {});
}

std::string word(const OptionWords& words, std::string_view option) {
  const std::string* const found = find_word(words, option);
  return found == nullptr ? "" : *found;
}

boost::json::object model_of(const std::string& options) {
  return boost::json::parse(word(words_of_line(options), "model")).as_object();
}

const std::string kMixture =
    " --num-experts 8 --moe-router-topk 4 --moe-ffn-hidden-size 512 --moe-grouped-gemm "
    "--moe-permute-fusion";
const std::string kLatent =
    " --multi-latent-attention --qk-layernorm --q-lora-rank 192 --kv-lora-rank 64 --qk-head-dim 64 "
    "--qk-pos-emb-head-dim 32 --v-head-dim 64";

}  // namespace

TEST_CASE("Megatron's mixtures: DeepSeek's decoder is read from a line",
          "[plan][sources][programs]") {
  const auto model = model_of(
      kMixture + kLatent +
      " --moe-shared-expert-intermediate-size 1024 --moe-layer-freq '([0]*1+[1]*3)*1'"
      " --moe-router-score-function sigmoid --moe-router-enable-expert-bias"
      " --moe-router-num-groups 4 --moe-router-group-topk 2 --moe-router-topk-scaling-factor 2.5");
  CHECK(model.at("model_type") == "deepseek_v3");
  CHECK(model.at("n_shared_experts") == 2);
  CHECK(model.at("first_k_dense_replace") == 1);
  CHECK(model.at("intermediate_size") == 2816);
  CHECK(model.at("moe_intermediate_size") == 512);
  CHECK(model.at("q_lora_rank") == 192);
  CHECK(model.at("n_group") == 4);
  CHECK(model.at("topk_group") == 2);
}

TEST_CASE("Megatron's mixtures: the router tells DeepSeek-V2 from V3",
          "[plan][sources][programs]") {
  const auto model = model_of(
      kMixture + kLatent + " --moe-shared-expert-intermediate-size 512 --moe-router-pre-softmax");
  CHECK(model.at("model_type") == "deepseek_v2");
  CHECK(model.at("topk_method") == "greedy");
  CHECK(model_of(kLatent).at("model_type") == "youtu");
}

TEST_CASE("Megatron's mixtures: norms of queries and keys make Qwen3",
          "[plan][sources][programs]") {
  const auto dense = model_of(" --qk-layernorm");
  CHECK(dense.at("model_type") == "qwen3");
  CHECK(dense.at("head_dim") == 64);
  const auto mixture = model_of(kMixture + " --qk-layernorm");
  CHECK(mixture.at("model_type") == "qwen3_moe");
  CHECK(mixture.at("norm_topk_prob") == true);
  CHECK(model_of(kMixture + " --qk-layernorm --moe-router-pre-softmax").at("norm_topk_prob") ==
        false);
}

TEST_CASE("Megatron's mixtures: a switch that a line leaves out is off",
          "[plan][sources][programs]") {
  const OptionWords fused = words_of_line(kMixture + " --moe-router-dtype fp32");
  CHECK(word(fused, "moe-grouped-gemm").empty());
  CHECK(word(fused, "moe-permute-fusion").empty());
  CHECK(word(fused, "moe-router-fp32").empty());
  const OptionWords bare = words_of_line(" --num-experts 8");
  CHECK(word(bare, "moe-grouped-gemm") == "false");
  CHECK(word(bare, "moe-permute-fusion") == "false");
  CHECK(word(bare, "moe-router-fp32") == "false");
  CHECK(word(words_of_line(""), "moe-grouped-gemm").empty());
  const OptionWords local = words_of_line(" --num-experts 8 --transformer-impl local");
  CHECK(word(local, "moe-grouped-gemm").empty());
}

TEST_CASE("Megatron's mixtures: a loss of balance counts with a coefficient",
          "[plan][sources][programs]") {
  const std::string kind = kMixture + " --moe-router-load-balancing-type seq_aux_loss";
  CHECK(word(words_of_line(kind + " --moe-aux-loss-coeff 1e-3"), "moe-balancing") ==
        "seq-aux-loss");
  CHECK(word(words_of_line(kind), "moe-balancing").empty());
}

TEST_CASE("Megatron's mixtures: experts that tensor parallelism does not split",
          "[plan][sources][programs]") {
  const std::string split = kMixture + " --tensor-model-parallel-size 2";
  CHECK(word(words_of_line(split + " --expert-tensor-parallel-size 1"), "etp") == "1");
  CHECK(word(words_of_line(split + " --expert-tensor-parallel-size 2"), "etp").empty());
}

TEST_CASE("Megatron's mixtures: parts of a layer that are recomputed",
          "[plan][sources][programs]") {
  const std::string parts = kMixture + " --recompute-modules moe_act layernorm";
  CHECK(word(words_of_line(parts + " --recompute-granularity selective"), "recompute-modules") ==
        "moe_act,layernorm");
  CHECK(word(words_of_line(parts), "recompute-modules").empty());
  CHECK(word(words_of_line(parts + " --recompute-granularity full"), "recompute-modules").empty());
}

TEST_CASE("Megatron's mixtures: which layers come before them", "[plan][sources][programs]") {
  using program_table::megatron_keys::dense_layers;
  CHECK(dense_layers("1") == 0);
  CHECK(dense_layers("([0]*1+[1]*3)*1") == 1);
  CHECK(dense_layers("[0]*3 + [1]*58") == 3);
  CHECK(dense_layers("[0,0,1,1]") == 2);
  CHECK(dense_layers("([1]*4)") == 0);
  for (const std::string_view other :
       {"2", "([0]+[1])*2", "[1,0]", "[0]*3+", "([0]*1", "[0]*x", "", "[0]*999999999999", "[2]",
        "((((((((((((((((((((((((0))))))))))))))))))))))))"}) {
    CAPTURE(other);
    CHECK_FALSE(dense_layers(other));
  }
}

}  // namespace megatron_mixtures_test
