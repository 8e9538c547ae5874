#include "workloads/dist/fsdp_clip.hpp"

#include "workloads/optim/clip_grad.hpp"
#include "workloads/optim/tensor_vector.hpp"

namespace highwater::dist {

using eager::Tensor;

namespace {

// _reduce_value: powers are summed by a functional all-reduce, which works on a copy, and the root
// is taken of the sum.
Tensor full_norm(ProcessGroup& group, const Tensor& partial) {
  Tensor powers = optim::make_like("pow", partial);
  Tensor summed = optim::make_like("clone", powers);
  group.all_reduce(summed).wait();
  Tensor root = optim::make_like("pow", summed);
  eager::end_of_frame(powers, summed);
  return root;
}

}  // namespace

void clip_grad_norm_of_shards(ProcessGroup& group, std::span<const Tensor> parameters) {
  clip_grad_norm(group.runtime(), parameters,
                 [&group](const Tensor& partial) { return full_norm(group, partial); });
}

}  // namespace highwater::dist
