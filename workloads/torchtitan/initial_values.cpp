#include "workloads/torchtitan/initial_values.hpp"

#include <algorithm>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::torchtitan {

using eager::Runtime;
using eager::Tensor;

namespace {

Tensor booleans(Runtime& runtime, std::int64_t count) {
  return eager::empty(runtime, {count}, DType::boolean);
}

// ((tensor < a) | (tensor > b)).any(), of `local` elements here and `whole` on all ranks.
void look_for_outliers(Runtime& runtime, std::int64_t local, std::int64_t whole) {
  const eager::OpScope op(runtime, "trunc_normal_");
  Tensor below = booleans(runtime, local);
  Tensor above = booleans(runtime, local);
  const Tensor outside = booleans(runtime, local);
  eager::end_of_frame(below, above);
  Tensor asked = local == whole ? outside : booleans(runtime, whole);
  const Tensor any = eager::reduce_plain("any", asked, {}, eager::KeepDim::no, DType::boolean);
  asked.reset();
}

Tensor drawn(Runtime& runtime, std::int64_t rows, std::int64_t columns) {
  return eager::empty(runtime, {rows, columns}, DType::fp32);
}

}  // namespace

// Rows are sharded as torch.chunk does.
std::int64_t InitialValues::local_numel(const Tensor& weight) const {
  const GroupPlace group = data_group(plan_.parallel);
  const int shards = std::max(group.ranks / plan_.parallel.fsdp.replicas, 1);
  const std::int64_t rows = weight.size(0);
  const std::int64_t each = (rows + shards - 1) / shards;
  const std::int64_t before = each * (group.rank % shards);
  return std::clamp<std::int64_t>(rows - before, 0, each) * weight.size(1);
}

void InitialValues::truncated_normal(const nn::Linear& linear) const {
  const nn::InModule scope(linear);
  look_for_outliers(linear.runtime(), local_numel(linear.weight), linear.weight.numel());
}

void InitialValues::fused(const nn::Linear& linear, std::int64_t heads_per_kv) const {
  const nn::InModule scope(linear);
  Runtime& runtime = linear.runtime();
  const std::int64_t width = linear.weight.size(1);
  const std::int64_t rows = linear.weight.size(0);
  const std::int64_t kv_rows = rows / (heads_per_kv + 2);
  Tensor q = drawn(runtime, rows - 2 * kv_rows, width);
  Tensor k = drawn(runtime, kv_rows, width);
  Tensor v = drawn(runtime, kv_rows, width);
  for (const Tensor& part : {q, k, v}) {
    look_for_outliers(runtime, part.numel(), part.numel());
  }
  Tensor joined = drawn(runtime, rows, width);
  if (const std::int64_t local = local_numel(linear.weight); local < linear.weight.numel()) {
    eager::empty(runtime, {local}, DType::fp32);  // _select_split_tensor
  }
  eager::end_of_frame(q, k, v, joined);
}

}  // namespace highwater::torchtitan
