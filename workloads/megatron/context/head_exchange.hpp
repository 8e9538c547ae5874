// Attention that exchanges heads for tokens (AttnFuncWithCPAndQKVOA2A, as DeepSpeed-Ulysses does):
// all-to-alls give every rank the whole sequence for heads / cp heads and take the result back.
//
// An exchange has three blocks per tensor: a copy with the heads first, the received data, and the
// same in sequence order, created in cp_stream. The first one lives until all tensors have been
// exchanged.
#pragma once

#include "workloads/megatron/context/flash_package.hpp"

namespace highwater::megatron {

class ContextParallelGroup;

/// [b * s / cp, heads, d].
eager::Tensor exchange_attention(ContextParallelGroup& cp, const FlashOperands& in);

}  // namespace highwater::megatron
