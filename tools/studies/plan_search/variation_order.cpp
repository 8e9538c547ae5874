#include "tools/studies/plan_search/variation_order.hpp"

#include "workloads/plan/checkpoint.hpp"

namespace highwater {
namespace {

/// How much checkpointing keeps, where two kinds can be compared.
bool keeps_no_less(const Checkpoint& a, const Checkpoint& b) {
  return a.kind == b.kind || a.kind == CheckpointKind::none || b.kind == CheckpointKind::full;
}

/// More chunks keep less than few, and all more than one. But which blocks are every n-th depends
/// on how many a chunk has.
bool has_no_fewer_in_flight(const Variation& a, const Variation& b) {
  const bool counts_blocks = b.checkpoint.kind == CheckpointKind::every_n;
  return a.chunks == b.chunks || b.chunks == 1 ||
         (a.chunks > 1 && a.chunks < b.chunks && !counts_blocks);
}

bool has_no_fewer_logits(const Variation& a, const Variation& b) {
  return a.loss == b.loss || (fuses_head(b.loss) && !fuses_head(a.loss));
}

}  // namespace

bool needs_no_less(const Variation& a, const Variation& b) {
  return a.batch >= b.batch && has_no_fewer_logits(a, b) &&
         keeps_no_less(a.checkpoint, b.checkpoint) && has_no_fewer_in_flight(a, b);
}

}  // namespace highwater
