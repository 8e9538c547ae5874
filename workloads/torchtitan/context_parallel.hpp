// Attention of a sequence that context-parallel ranks share: each has its queries, and the keys and
// values of all.
//
// Source: torchtitan 0.3, distributed/context_parallel/api.py (apply_cp_to_forward); PyTorch 2.15,
// torch/distributed/tensor/experimental/_context_parallel/_cp_custom_ops.py (flex_cp_allgather),
// whose backward reduces the gradients to each rank's part.
#pragma once

#include "workloads/torchtitan/sequence_parallel.hpp"

namespace highwater::torchtitan {

struct KeysAndValues {
  eager::Tensor key;
  eager::Tensor value;
};

/// Both [b, s, heads, d], contiguous or copied to be.
KeysAndValues gathered(SequenceRanks& ranks, const eager::Tensor& key, const eager::Tensor& value);

}  // namespace highwater::torchtitan
