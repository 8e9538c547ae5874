#include "workloads/torchtitan/context_parallel.hpp"

#include "workloads/eager/node.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::torchtitan {

using eager::Tensor;
using eager::TensorList;

KeysAndValues gathered(SequenceRanks& ranks, const Tensor& key, const Tensor& value) {
  eager::Runtime& runtime = key.runtime();
  const Tensor own_key = eager::contiguous(key);
  const Tensor own_value = eager::contiguous(value);
  const auto node = eager::begin_node(runtime, "GeneratedBackwardFor_cplib_flex_cp_allgather",
                                      {own_key, own_value});
  const eager::OpScope op(runtime, "flex_cp_allgather", 0);
  KeysAndValues whole;
  {
    const eager::NoGrad no_grad(runtime);
    whole = {ranks.gathered(own_key), ranks.gathered(own_value)};
  }
  eager::finish_node(node, whole.key, [&ranks](eager::Node&, TensorList& grads) {
    return TensorList{ranks.scattered(grads[0]), ranks.scattered(grads[1])};
  });
  if (node) {
    node->add_output(whole.value);
  }
  return whole;
}

}  // namespace highwater::torchtitan
