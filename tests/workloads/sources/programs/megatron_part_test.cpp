// Which option of a Megatron line keeps its decoder from every family.
#include <algorithm>

#include <catch2/catch.hpp>

#include "workloads/sources/programs/program.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

std::string stray_key(const std::string& options) {
  const PlanSource source = plan_of_launch(
      read_launch_line("torchrun pretrain_gpt.py --num-layers 32 --hidden-size 4096"
                       " --ffn-hidden-size 14336 --num-attention-heads 32 --vocab-size 128256"
                       " --group-query-attention --num-query-groups 8 --seq-length 8192"
                       " --untie-embeddings-and-output-weights " +
                           options,
                       "x.sh"),
      "x.sh");
  const auto key = std::ranges::find(source.keys, "model", &SourceKey::lacks);
  return key == source.keys.end() ? "" : key->key + " " + key->value + ": " + key->meaning;
}

}  // namespace

TEST_CASE("megatron: a refusal names the option that sets a decoder apart", "[plan][programs]") {
  const std::string rest = "--swiglu --position-embedding-type rope --disable-bias-linear ";
  CHECK_THAT(stray_key(rest), Contains("(normalization) LayerNorm") && Contains("RMSNorm"));
  CHECK_THAT(stray_key("--normalization RMSNorm --swiglu --disable-bias-linear"),
             Contains("(position_embedding_type)") && Contains("rotary"));
  CHECK_THAT(stray_key("--normalization RMSNorm --swiglu --position-embedding-type rope"),
             Contains("(disable_bias_linear) false") && Contains("no biases"));
  CHECK(stray_key(rest + "--normalization RMSNorm").empty());
}
