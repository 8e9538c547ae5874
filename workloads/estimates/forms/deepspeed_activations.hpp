// DeepSpeed's estimate of activations, which its documentation marks as unfinished.
#pragma once

#include "workloads/estimates/terms/formula.hpp"

namespace highwater {

/// Bytes of one layer for `seq` (s) tokens in each of `batch` (b) sequences, `hidden` (h) and
/// `heads` (a): (2 s a + 16 h) s b. Source: DeepSpeed documentation, "Memory Requirements",
/// activations; it does not mention the number of layers, so this is taken as one layer's.
Estimate deepspeed_activations(double seq, double batch, double hidden, double heads);

extern const Formula kDeepspeedActivations;

}  // namespace highwater
