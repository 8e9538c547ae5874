// The cache of keys and values by release, from cache_utils.py of the wheels of
// transformers 4.55.4, 4.57.1, 5.23.0 and 5.24.0 (DynamicLayer.update, lazy_initialization).
#include "workloads/nn/cache.hpp"

#include <vector>

#include <catch2/catch.hpp>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/plan/training_plan.hpp"

using namespace highwater;
using eager::Tensor;

namespace {

using Sizes = std::vector<std::uint64_t>;

enum class Layer : std::uint8_t { full, sliding };

/// What a first update asks for: keys of 512 bytes in fp32, as rotary embeddings leave them under
/// autocast, and as many values in bf16.
Sizes asked_for(Release transformers, Layer layer = Layer::full) {
  const TrainingPlan plan;
  eager::Runtime runtime(plan.gpu, {2, 15}, transformers);
  Tensor keys = eager::empty(runtime, {1, 1, 16, 8}, DType::fp32);
  Tensor values = eager::empty(runtime, {1, 1, 16, 8}, DType::bf16);
  nn::KeyValueCache cache;
  layer == Layer::full ? cache.update(keys, values) : cache.update_sliding(keys, values);
  Sizes sizes;
  for (const Event& event : runtime.take_trace().events) {
    if (event.kind == EventKind::alloc) {
      sizes.push_back(event.value);
    }
  }
  return {sizes.begin() + 2, sizes.end()};
}

}  // namespace

TEST_CASE("cache: values keep their own type since transformers 5.24", "[cache]") {
  CHECK(asked_for({5, 24}) == Sizes{512, 256});
  CHECK(asked_for({5, 23}) == Sizes{512, 512});
}

TEST_CASE("cache: a sliding layer has its width as a tensor since transformers 5", "[cache]") {
  CHECK(asked_for({5, 24}, Layer::sliding) == Sizes{8, 512, 256});
  CHECK(asked_for({4, 57}, Layer::sliding) == Sizes{512, 512});
}

TEST_CASE("cache: the first keys and values are kept as they are until transformers 4.55",
          "[cache]") {
  CHECK(asked_for({4, 55}).empty());
  CHECK(asked_for({4, 56}) == Sizes{512, 512});
}
