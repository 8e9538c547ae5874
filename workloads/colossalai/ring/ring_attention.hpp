// Ring self-attention as published: keys, then values, go around a ring of ranks, and each rank
// keeps the scores of its queries with all keys of the sequence.
//
// Source: Li et al. 2021 (arXiv 2105.13120); Colossal-AI 0.5, legacy/nn/layer/parallel_sequence/
// _operation.py (RingQK, RingAV), legacy/communication/ring.py.
#pragma once

#include "workloads/colossalai/layers/python_context.hpp"
#include "workloads/distributed/process_group.hpp"

namespace highwater::colossalai {

/// The [b heads, s / N, s] scores of [b heads, s / N, d] queries and this rank's keys.
Tensor ring_scores(const Tensor& query, const Tensor& key, dist::ProcessGroup& ranks);

/// The [b heads, s / N, d] sums of all ranks' values, weighted by [b heads, s / N, s]
/// probabilities.
Tensor ring_values(const Tensor& probabilities, const Tensor& value, dist::ProcessGroup& ranks);

}  // namespace highwater::colossalai
