// What Transformer Engine's overlap of tensor parallelism's sums keeps on the device besides.
#pragma once

#include "traces/units.hpp"
#include "workloads/step_time/assumptions.hpp"

namespace highwater {

struct TrainingPlan;

/// Ten buffers of a micro-batch's tokens by the hidden size, allocated by the CUDA driver and
/// shared among the ranks: one for each of a layer's products and directions that overlaps
/// (Transformer Engine 1.9, module/base.py initialize_ub: ring_exchange, pipeline and bulk;
/// common/comm_gemm_overlap, register_user_buffer_collective). The shape is Megatron-LM's
/// (training/initialize.py _initialize_tp_communicators). 0 where nothing overlaps.
Bytes overlap_buffers(const TrainingPlan& plan, const TimeAssumptions& assumed);

}  // namespace highwater
