// What of a layer runs again in backward besides its attention (--recompute-modules), and the
// checkpoint whose results are freed as well.
// Source: core/tensor_parallel/random.py of Megatron-Core 0.16.1.
#pragma once

#include <memory>
#include <vector>

#include "workloads/nn/checkpoint.hpp"
#include "workloads/plan/checkpoint.hpp"

namespace highwater::megatron {

using eager::Tensor;
using eager::TensorList;

/// Whether `module` is recomputed in this run.
bool recomputes(const nn::ModelContext& context, RecomputeModule module);

/// checkpoint() where `module` is recomputed, a call elsewhere.
TensorList checkpointed(nn::ModelContext& context, RecomputeModule module,
                        const nn::TupleSegment& segment, const std::vector<Tensor>& arguments);

/// CheckpointWithoutOutput where `module` is recomputed, a call elsewhere: the results' blocks are
/// freed when their reader is through, and refilled just before the reader's gradient flows.
class CheckpointWithoutOutput {
 public:
  CheckpointWithoutOutput(nn::ModelContext& context, RecomputeModule module);

  /// @pre called once
  TensorList operator()(nn::TupleSegment segment, const std::vector<Tensor>& arguments);

  /// `reader`: made of the results, which nothing else reads any more in forward
  /// (discard_output_and_register_recompute).
  void discard(const Tensor& reader);

 private:
  struct Recomputed;
  struct State;

  nn::ModelContext& context_;
  std::shared_ptr<State> state_;  ///< null where nothing is recomputed
};

}  // namespace highwater::megatron
