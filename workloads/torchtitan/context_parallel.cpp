#include "workloads/torchtitan/context_parallel.hpp"

#include "workloads/eager/node.hpp"
#include "workloads/eager/runtime.hpp"

namespace highwater::torchtitan {

using eager::Tensor;
using eager::TensorList;

namespace {

constexpr std::int64_t kSequence = 1;

Tensor gathered_part(dist::DeviceMesh& mesh, const Tensor& part) {
  return mesh.all_gather(part, kSequence, part.size(kSequence) * mesh.size());
}

}  // namespace

KeysAndValues gathered(dist::DeviceMesh& mesh, const Tensor& key, const Tensor& value) {
  eager::Runtime& runtime = mesh.runtime();
  const Tensor own_key = eager::contiguous(key);
  const Tensor own_value = eager::contiguous(value);
  const auto node = eager::begin_node(runtime, "GeneratedBackwardFor_cplib_flex_cp_allgather",
                                      {own_key, own_value});
  const eager::OpScope op(runtime, "flex_cp_allgather", 0);
  KeysAndValues whole;
  {
    const eager::NoGrad no_grad(runtime);
    whole = {gathered_part(mesh, own_key), gathered_part(mesh, own_value)};
  }
  eager::finish_node(node, whole.key, [&mesh](eager::Node&, TensorList& grads) {
    return TensorList{mesh.reduce_scatter(grads[0], kSequence),
                      mesh.reduce_scatter(grads[1], kSequence)};
  });
  if (node) {
    node->add_output(whole.value);
  }
  return whole;
}

}  // namespace highwater::torchtitan
