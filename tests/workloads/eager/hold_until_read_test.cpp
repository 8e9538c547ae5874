// What an asynchronous collective holds until its result is read.
#include <catch2/catch.hpp>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/plan/gpu.hpp"

using namespace highwater;
using namespace highwater::eager;

TEST_CASE("eager: what a result needs is held until an operator reads it, not until it is viewed",
          "[workloads][eager]") {
  Runtime runtime(default_gpu(), {2, 15}, {5, 23});
  const Tensor result = empty(runtime, {4, 4}, DType::fp32);
  const Tensor input = empty(runtime, {16, 4}, DType::fp32);
  runtime.hold_until_read(result, input);
  CHECK(input.use_count() == 2);
  const Tensor flat = view(result, {16});
  CHECK(input.use_count() == 2);
  const Tensor other = neg(empty(runtime, {4}, DType::fp32));
  CHECK(input.use_count() == 2);
  const Tensor sum = add(flat, flat);
  CHECK(input.use_count() == 1);
}
