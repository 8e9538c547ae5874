// The ways in which PyTorch's kernels reduce, for the GPU of a recording: sums of gradients over
// tokens or pixels, means and norms of everything, arguments of maxima, variances.
//
// Their rule is workloads/kernels/reduce.hpp; which elements they read and write are the
// combinations that training uses.
#pragma once

#include "sim/scaling/reduction_workspaces.hpp"
#include "workloads/plan/gpu.hpp"

namespace highwater {

ReductionWays reduction_ways(const Gpu& gpu);

}  // namespace highwater
