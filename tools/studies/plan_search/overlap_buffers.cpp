#include "tools/studies/plan_search/overlap_buffers.hpp"

#include <algorithm>

#include "workloads/plan/training_plan.hpp"
#include "workloads/step_time/step_time.hpp"

namespace highwater {

Bytes overlap_buffers(const TrainingPlan& plan, const TimeAssumptions& assumed) {
  if (!sums_beside_products(plan, assumed)) {
    return Bytes{};
  }
  constexpr std::int64_t kBuffers = 10;
  const std::int64_t tokens = plan.batch * *std::ranges::max_element(plan.seq) / plan.parallel.cp;
  const std::int64_t elements = kBuffers * tokens * shape_of(plan.model).hidden;
  return Bytes{static_cast<std::uint64_t>(elements * item_size(model_dtype(plan.precision)))};
}

}  // namespace highwater
