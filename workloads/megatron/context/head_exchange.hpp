// Attention that exchanges heads for tokens (AttnFuncWithCPAndQKVOA2A, as DeepSpeed-Ulysses does):
// all-to-alls give every rank the whole sequence for heads / cp heads and take the result back.
//
// An exchange has three blocks a tensor: a copy with the heads in front, what arrives, and that in
// the order of the sequence, made in cp_stream. The first one lives until all of the tensors are
// through.
#pragma once

#include "workloads/megatron/context/flash_package.hpp"

namespace highwater::megatron {

class ContextParallelGroup;

/// [b * s / cp, heads, d].
eager::Tensor exchange_attention(ContextParallelGroup& cp, const FlashOperands& in);

}  // namespace highwater::megatron
