#include "workloads/distributed/tensor_parallel/dtensor.hpp"

#include "workloads/optim/tensor_vector.hpp"

namespace highwater::dist {

using eager::Dims;
using eager::Tensor;
using optim::Layout;

namespace {

bool is_sharded(Layout layout) {
  return layout == Layout::rows || layout == Layout::columns;
}

std::int64_t dim_of(Layout layout) {
  return layout == Layout::rows ? 0 : 1;
}

}  // namespace

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

Tensor GroupResharding::redistribute(const Tensor& local, optim::MatrixSize size, Layout from,
                                     Layout to) const {
  const Dims sizes{size.rows, size.columns};
  if (is_sharded(from) && is_sharded(to)) {
    return mesh_.all_to_all(local, sizes, dim_of(from), dim_of(to));
  }
  if (is_sharded(from)) {
    return mesh_.all_gather(local, dim_of(from), sizes[static_cast<std::size_t>(dim_of(from))]);
  }
  if (from == Layout::partial) {
    return is_sharded(to) ? mesh_.reduce_scatter(local, dim_of(to)) : mesh_.all_reduce(local);
  }
  return is_sharded(to) ? mesh_.piece(local, dim_of(to)) : optim::make_like("div", local);
}

}  // namespace highwater::dist
