#include "workloads/distributed/tensor_parallel/dtensor.hpp"

#include "workloads/optim/tensor_vector.hpp"

namespace highwater::dist {

using eager::Dims;
using eager::Tensor;

Tensor GroupResharding::full_norm(const Tensor& partial) const {
  Tensor powers = optim::make_like("pow", partial);
  Tensor summed = optim::make_like("clone", powers);
  group_.all_reduce(summed).wait();
  Tensor root = optim::make_like("pow", summed);
  eager::end_of_frame(powers, summed);
  return root;
}

Tensor GroupResharding::gather(const Tensor& shard, std::int64_t rows) const {
  const std::int64_t each = (rows + group_.size() - 1) / group_.size();
  Dims sizes = shard.sizes();
  Tensor part = shard;
  if (sizes.front() != each) {
    sizes.front() = each;
    part = eager::empty(group_.runtime(), sizes, shard.dtype());  // constant_pad_nd
  }
  sizes.front() = each * group_.size();
  Tensor whole = eager::empty(group_.runtime(), sizes, shard.dtype());
  group_.all_gather_functional(whole, part).wait();
  return whole;
}

}  // namespace highwater::dist
