// Masks against recordings of transformers 5.12 on PyTorch 2.6: what the caching allocator saw
// while masking_utils.py made one. "+640" is a request for 640 bytes, "-2" frees request number 2.
#include "workloads/nn/masking.hpp"

#include <map>
#include <optional>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/recorded_releases.hpp"
#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using eager::Tensor;

namespace {

struct Case {
  Attention attention = Attention::sdpa;
  std::int64_t batch = 2;
  std::int64_t length = 48;
  bool padding = false;
  DType dtype = DType::fp32;
  std::optional<std::int64_t> window;
};

std::string words(const RequestTrace& trace, std::size_t first) {
  std::map<std::uint64_t, std::size_t> numbers;
  std::string text;
  for (std::size_t i = first; i < trace.events.size(); ++i) {
    const Event& event = trace.events[i];
    const auto id = event.allocation.value();
    const bool is_alloc = event.kind == EventKind::alloc;
    if (is_alloc) {
      numbers.emplace(id, numbers.size());
    }
    text += (text.empty() ? "" : " ") +
            (is_alloc ? "+" + std::to_string(event.value) : "-" + std::to_string(numbers.at(id)));
  }
  return text;
}

// The requests of create_causal_mask, the mask itself still alive.
std::string made(const Case& wanted) {
  TrainingPlan plan;
  plan.versions = test::kRecordedReleases;
  plan.attention = wanted.attention;
  eager::Runtime runtime(plan.gpu, {2, 6}, {5, 12});
  nn::ModelContext context{.runtime = runtime, .plan = plan};
  const Tensor embeds = eager::empty(runtime, {wanted.batch, wanted.length, 8}, wanted.dtype);
  const Tensor positions = eager::empty(runtime, {1, wanted.length}, DType::int64);
  const Tensor padding = wanted.padding
                             ? eager::empty(runtime, {wanted.batch, wanted.length}, DType::int64)
                             : Tensor{};
  const std::size_t before = wanted.padding ? 3 : 2;
  const Tensor mask = nn::create_causal_mask(context, {.inputs_embeds = embeds,
                                                       .attention_mask = padding,
                                                       .position_ids = positions,
                                                       .sliding_window = wanted.window});
  return words(runtime.take_trace(), before);
}

}  // namespace

TEST_CASE("a mask is made by the requests that were recorded") {
  CHECK(made({.padding = true}) == "+96 +1 -1 -0");
  CHECK(made({.attention = Attention::eager, .padding = true}) ==
        "+96 +16 +8 +384 +384 -3 +384 +384 -5 +1 +2304 +2304 -8 -7 +768 +768 +96 -11 -10 +4608 -12 "
        "-9 -1 -2 -4 -6 +4 +4 +18432 -15 -14 -13 -0");
  CHECK(made({.attention = Attention::eager, .length = 7}) ==
        "+16 +128 +112 -1 +14 +112 +112 -5 -3 +2 +1 -6 -7 -0 -2 -4 +16 +8 +56 +56 -10 +56 +56 -12 "
        "+49 -8 -9 -11 -13 +4 +4 +392 -16 -15 -14");
}

TEST_CASE("a sliding window is one more mask, for SDPA too once the sequence reaches it") {
  CHECK(made({.length = 64, .padding = true, .dtype = DType::bf16, .window = 16}) ==
        "+128 +16 +8 +512 +512 -3 +512 +512 -5 +1 +1 +512 +4096 -9 +4096 -10 -8 +4096 +4096 -12 "
        "-11 +4096 -13 -7 +1024 +1024 +128 -16 -15 +8192 -17 -14 -1 -2 -4 -6 -0");
  CHECK(made({.attention = Attention::eager, .length = 64, .dtype = DType::bf16, .window = 16}) ==
        "+16 +1040 +1024 -1 +128 +1024 +1024 -5 -3 +2 +1 -6 -7 -0 -2 -4 +16 +8 +512 +512 -10 +512 "
        "+512 -12 +1 +512 +4096 -15 +4096 -16 -14 +4096 +4096 -18 -17 -8 -9 -11 -13 +2 +2 +16384 "
        "-21 -20 -19");
  const Case wide{.length = 64, .dtype = DType::bf16, .window = 65};
  const Case none{.length = 64, .dtype = DType::bf16};
  CHECK(made(wide) == made(none));
}
