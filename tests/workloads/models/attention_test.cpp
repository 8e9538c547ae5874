// What transformers does around scaled_dot_product_attention by release: sdpa_attention.py of the
// wheels of transformers 4.48.3, 4.53.3, 4.54.1, 4.55.4, 4.56.2 and 4.57.1, modeling_llama.py and
// modeling_gpt2.py of 4.46.3.
#include "workloads/models/attention.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/nn/module.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;

namespace {

constexpr std::int64_t kQueryHeads = 4;
constexpr std::int64_t kTokens = 64;
constexpr std::int64_t kHeadWidth = 32;
constexpr std::uint64_t kQueryBytes = kQueryHeads * kTokens * kHeadWidth * 2;  // bytes in bf16

enum class Groups : std::uint8_t { none, two };

enum class Mask : std::uint8_t { none, given };

/// [1, heads, length, width] as a block makes it of [1, length, heads, width].
models::Tensor split_heads(eager::Runtime& runtime, std::int64_t heads) {
  return eager::transpose(eager::empty(runtime, {1, kTokens, heads, kHeadWidth}, DType::bf16), 1,
                          2);
}

/// How many tensors of the query's size are asked for before the kernel's own results.
std::int64_t copies(Release transformers, Groups groups, Mask mask = Mask::none) {
  const TrainingPlan plan;
  eager::Runtime runtime(plan.gpu, {2, 10}, transformers);
  const eager::NoGrad no_grad(runtime);
  const nn::ModelContext context{.runtime = runtime, .plan = plan, .part = {}};
  const bool is_grouped = groups == Groups::two;
  const std::int64_t pairs = is_grouped ? 2 : 1;
  models::AttentionCall call;
  call.query = split_heads(runtime, kQueryHeads);
  call.key = split_heads(runtime, kQueryHeads / pairs);
  call.value = split_heads(runtime, kQueryHeads / pairs);
  call.groups = pairs;
  call.is_grouped = is_grouped;
  if (mask == Mask::given) {
    call.mask = eager::empty(runtime, {1, 1, kTokens, kTokens}, DType::boolean);
  }
  models::sdpa_attention(context, std::move(call));
  std::int64_t count = 0;
  for (const Event& event : runtime.take_trace().events) {
    count += event.kind == EventKind::alloc && event.value == kQueryBytes ? 1 : 0;
  }
  const std::int64_t made_here = is_grouped ? 1 : 3;  // keys and values are as large without groups
  return count - made_here;
}

/// Beside the newest release, which neither copies nor repeats without a mask.
std::int64_t more(Release transformers, Groups groups, Mask mask = Mask::none) {
  return copies(transformers, groups, mask) - copies({5, 24}, groups, mask);
}

}  // namespace

// Flash attention's result is laid out as the query is: that of a copy is copied by the caller.
TEST_CASE("sdpa: queries, keys and values are copied from transformers 4.48 to 4.55",
          "[attention]") {
  CHECK(more({4, 48}, Groups::none) == 4);
  CHECK(more({4, 55}, Groups::none) == 4);
  CHECK(more({4, 56}, Groups::none) == 0);
  CHECK(more({4, 46}, Groups::none, Mask::given) == 0);
  CHECK(more({4, 55}, Groups::none, Mask::given) == 3);
}

TEST_CASE("sdpa: keys and values are repeated until transformers 4.53", "[attention]") {
  CHECK(more({4, 46}, Groups::two) == 2);
  CHECK(more({4, 53}, Groups::two) == 4);  // keys and values; the query, the result
  CHECK(more({4, 54}, Groups::two) == 2);  // copied keys and values are half as large
  CHECK(more({4, 57}, Groups::two) == 0);
}

TEST_CASE("sdpa: beside a mask LLaMA's class of transformers 4.46 copies the query",
          "[attention]") {
  CHECK(more({4, 46}, Groups::two, Mask::given) == 1);
}
