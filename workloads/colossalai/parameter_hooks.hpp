// What happens around every operator that has a parameter among its arguments.
//
// ColoParameter.__torch_function__ wraps such an operator into two autograd Functions:
// PreFwdPostBwd takes all its arguments, PostFwdPreBwd its result. Gemini's hook gathers the
// parameters' chunks before the operator, in forward and in backward. As all gradients leave
// through one Function, a weight's gradient waits for the others of its operator. Sources:
// Colossal-AI 0.3.0, colossalai/tensor/{colo_parameter,param_op_hook}.py,
// zero/gemini/gemini_hook.py.
#pragma once

#include <optional>

#include "workloads/colossalai/gemini_manager.hpp"
#include "workloads/colossalai/tensor_parallel_1d.hpp"

namespace highwater::dist {

/// Hangs the hooks on every layer of `root` that has parameters of its own. With `split` linear
/// layers and embeddings compute with the split weights.
/// @pre `manager` outlives the model's last forward and backward
void hook_parameters(nn::Module& root, GeminiManager& manager,
                     const std::optional<TensorParallelRank>& split);

}  // namespace highwater::dist
