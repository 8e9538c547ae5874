#include "workloads/training/batch_loader.hpp"

#include <utility>

#include "workloads/plan/context_parallel.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater {

using eager::Tensor;

void BatchLoader::load(std::int64_t index, BatchParts parts, models::Inputs& batch) const {
  const std::int64_t length = sequence_length(plan_, index);
  runtime_.mark_phase("data");
  if (plan_.framework == Framework::hf && !runs_context_parallel(plan_)) {
    batch = {};  // "for batch in loader" binds the name to what is on the host
  }
  if (loops_around_accelerator(plan_.framework)) {
    models::Inputs next;
    fill(length, parts, next);
    std::swap(batch, next);  // accelerate 1.15, data_loader.py: yields it when all of it is there
    eager::end_of_frame(next.input_ids, next.attention_mask, next.labels);
    return;
  }
  fill(length, parts, batch);
}

void BatchLoader::fill(std::int64_t length, BatchParts parts, models::Inputs& batch) const {
  // A script cuts its sequences on the host; everybody's mask is needed.
  const bool is_cut = runs_ring_self_attention(plan_.parallel) || runs_ulysses(plan_);
  const std::int64_t own = is_cut ? length / plan_.parallel.cp : length;
  if (parts.tokens) {
    batch.input_ids = tensor(own);
  }
  if (parts.labels) {
    batch.labels =
        plan_.model.labels > 0 ? of_sizes({plan_.batch}) : tensor(plan_.target_seq.value_or(own));
  }
  // transformers 5.24, data_collator.py DataCollatorForSeq2Seq: of the model that it is given.
  if (plan_.loss.smoothing > 0 && has_own_targets(plan_)) {
    batch.decoder_ids = tensor(plan_.target_seq.value_or(own));
  }
  if (runs_ulysses(plan_)) {
    batch.positions = tensor(own);
  }
  if (runs_context_parallel(plan_)) {
    batch.positions = positions(length);
  } else if (plan_.parallel.cp > 1 && !is_cut) {
    take_own_part(batch.input_ids);
    take_own_part(batch.labels);
  }
  if (plan_.attention_mask != AttentionMask::none) {
    batch.attention_mask = tensor(length);
  }
}

Tensor BatchLoader::tensor(std::int64_t length) const {
  return of_sizes({plan_.batch, length});
}

Tensor BatchLoader::of_sizes(const eager::Dims& sizes) const {
  Tensor result = eager::empty(runtime_, sizes, DType::int64);
  runtime_.categorize(result, Category::input);
  if (plan_.data == DataSource::to) {
    runtime_.synchronize();  // the host waits for a copy from pageable memory
  }
  return result;
}

// accelerate's loader gives every sequence its numbers, a script one row for all.
Tensor BatchLoader::positions(std::int64_t length) const {
  if (runs_accelerate(plan_.framework)) {
    return tensor(length);
  }
  Tensor result = eager::unsqueeze(eager::arange(runtime_, length), 0);
  runtime_.categorize(result, Category::input);
  return result;
}

// get_batch_on_this_cp_rank: the whole sequence is freed once its part exists.
void BatchLoader::take_own_part(Tensor& whole) const {
  if (!whole.defined()) {
    return;
  }
  const Tensor index = eager::empty(runtime_, {2}, DType::int64);
  Tensor part =
      eager::empty(runtime_, {plan_.batch, whole.size(1) / plan_.parallel.cp}, DType::int64);
  runtime_.categorize(part, Category::input);
  whole = std::move(part);
}

}  // namespace highwater
