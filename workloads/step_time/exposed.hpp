// What a step waits for beside its kernels: other ranks and the host.
//
// Tensor parallelism's sums are waited for, but for what Megatron-Core starts beside the gradients
// of weights, or Transformer Engine beside all products; mixtures' exchanges are, too. Context
// parallelism's keys travel while the tokens at hand are attended to. Sharded parameters are
// gathered for the next layer, and gradients summed of the last one, while a layer computes;
// whoever reduces once a step does so during the last backward, if the program overlaps at all.
#pragma once

#include "workloads/step_time/collective.hpp"
#include "workloads/step_time/layer_time.hpp"

namespace highwater {
struct TrainingPlan;
}

namespace highwater::timing {

/// One rank's part of the job, of the pipeline stage that takes longest.
struct Rank {
  const TrainingPlan* plan = nullptr;
  Machine machine;
  TensorSums sums = TensorSums::waited_for;
  Rates rates;
  LayerSizes sizes;
  Share share;
  double layers = 0;      ///< on this stage
  LayerTime layer;        ///< of one of them
  LayerTime ends;         ///< head and loss, if they are on this stage
  double again = 0;       ///< seconds of a layer's forward that are repeated
  double recomputed = 0;  ///< share of the layer's forward whose sums are repeated, too
};

/// Seconds per layer and micro-batch.
double tensor_parallel(const Rank& rank);
double context_parallel(const Rank& rank);
double expert_parallel(const Rank& rank);

/// Seconds per micro-batch, or per step.
struct DataParallelTime {
  double per_micro_batch = 0;
  double per_step = 0;
};

DataParallelTime data_parallel(const Rank& rank);

/// Seconds per step.
double optimizer_update(const Rank& rank);
double offloading(const Rank& rank);

}  // namespace highwater::timing
