#include "tools/studies/plan_search/job_division.hpp"

#include "workloads/plan/training_plan.hpp"

namespace highwater {
namespace {

/// What is sharded over data-parallel ranks: nothing where there is one.
int sharding_of(const Parallelism& p) {
  if (p.dp * p.cp == 1) {
    return 0;
  }
  switch (p.dp_kind) {
    case DataParallel::ddp:
    case DataParallel::zero0:
      return 0;
    case DataParallel::zero1:
      return 1;
    case DataParallel::zero2:
      return 2;
    case DataParallel::zero3:
    case DataParallel::fsdp1:
    case DataParallel::fsdp2:
      return 3;
  }
  return 0;
}

bool has_axes_of(const Parallelism& p, const Parallelism& q) {
  return p.tp == q.tp && p.pp == q.pp && p.ep == q.ep;
}

/// Whether the candidate only cuts the sequences of `row` into more parts.
bool cuts_sequences_more(const Candidate& candidate, const StrategyResult& row) {
  const Parallelism& p = candidate.plan.parallel;
  const Parallelism& q = row.plan.parallel;
  return candidate.strategy == row.strategy && p.cp > q.cp && has_axes_of(p, q);
}

/// Whether the candidate only keeps whole on each rank what `row`, of the same program, shards.
bool shards_less(const Candidate& candidate, const StrategyResult& row) {
  const Parallelism& p = candidate.plan.parallel;
  const Parallelism& q = row.plan.parallel;
  return candidate.plan.framework == row.plan.framework && has_axes_of(p, q) && p.cp == q.cp &&
         p.offload == q.offload && p.tp_kind == q.tp_kind && sharding_of(p) < sharding_of(q);
}

/// Whether the candidate only moves to the host what `row` has on the GPU.
bool offloads_more(const Candidate& candidate, const StrategyResult& row) {
  const Parallelism& p = candidate.plan.parallel;
  const Parallelism& q = row.plan.parallel;
  return p.offload != Offload::none && q.offload == Offload::none && has_axes_of(p, q) &&
         p.cp == q.cp && sharding_of(p) <= sharding_of(q);
}

}  // namespace

JobDivision division_of(const Candidate& candidate) {
  const Parallelism& p = candidate.plan.parallel;
  return {.kind = candidate.kind,
          .sharding = sharding_of(p),
          .dp = p.dp,
          .tp = p.tp,
          .pp = p.pp,
          .cp = p.cp,
          .ep = p.ep,
          .replicas = p.fsdp.replicas,
          .has_grid = p.tp_kind >= TensorParallel::colossalai_2d,
          .offload = p.offload,
          .offload_ratio = p.zero.offload_ratio,
          .optimizer_device = p.zero.optimizer_device,
          .placement = p.gemini.placement};
}

bool is_needless_beside(const Candidate& candidate, const StrategyResult& row) {
  return candidate.kind == row.kind &&
         (cuts_sequences_more(candidate, row) || offloads_more(candidate, row) ||
          shards_less(candidate, row));
}

}  // namespace highwater
