// Attention with keys and values that travel around a ring (AttnFuncWithCPAndKVP2P): in each of cp
// steps a rank attends to what it received last and passes it on.
//
// Every received pair and every step's result lives until the forward ends; the last pair is kept
// for the backward, which goes around in the other direction. With the causal mask, a rank attends
// in step i <= rank with all of its queries to half of the keys, and later with half of its queries
// to all of the keys, so ranks differ.
#pragma once

#include "workloads/megatron/context/flash_package.hpp"

namespace highwater::megatron {

class ContextParallelGroup;

/// The queries and keys of this rank that one step of the forward uses, of `length` tokens.
FlashLengths ring_lengths(int rank, int step, std::int64_t length);

/// [b * s / cp, heads, d].
eager::Tensor ring_attention(ContextParallelGroup& cp, const FlashOperands& in);

}  // namespace highwater::megatron
