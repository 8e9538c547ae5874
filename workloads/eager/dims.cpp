#include "workloads/eager/dims.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "traces/error.hpp"

namespace highwater::eager {

namespace {

constexpr std::int64_t kMostElements = std::int64_t{1} << 62;

using Order = boost::container::static_vector<std::size_t, kMaxDims>;

// Dimensions from the fastest varying to the slowest, ties as at::is_non_overlapping_and_dense.
Order by_stride(const Dims& sizes, const Dims& strides) {
  Order order(sizes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    if (sizes[a] < 2 || sizes[b] < 2) {
      return sizes[a] >= 2 && sizes[b] < 2;
    }
    return strides[a] < strides[b];
  });
  return order;
}

// An operand's stride along `dim` of the result; 0 where it is broadcast.
std::int64_t stride_along(const Layout& operand, std::size_t dim, const Dims& result) {
  const auto missing = result.size() - operand.sizes->size();
  if (dim < missing) {
    return 0;
  }
  const auto own = dim - missing;
  return (*operand.sizes)[own] == 1 && result[dim] != 1 ? 0 : (*operand.strides)[own];
}

// TensorIteratorBase::reorder_dimensions: positive to swap, negative to stop, 0 undecided.
int should_swap(std::size_t dim0, std::size_t dim1, const Dims& sizes,
                std::span<const Layout> operands) {
  for (const auto& operand : operands) {
    const auto stride0 = stride_along(operand, dim0, sizes);
    const auto stride1 = stride_along(operand, dim1, sizes);
    if (stride0 == 0 || stride1 == 0) {
      continue;
    }
    if (stride0 != stride1) {
      return stride0 < stride1 ? -1 : 1;
    }
    if (sizes[dim0] > sizes[dim1]) {
      return 1;
    }
  }
  return 0;
}

// Dimensions from the fastest varying to the slowest, by the operands' layouts.
Order iteration_order(const Dims& sizes, std::span<const Layout> operands) {
  Order order(sizes.size());
  std::iota(order.rbegin(), order.rend(), std::size_t{0});
  for (std::size_t i = 1; i < order.size(); ++i) {
    std::size_t dim1 = i;
    for (std::size_t dim0 = i; dim0-- > 0;) {
      const int swap = should_swap(order[dim0], order[dim1], sizes, operands);
      if (swap > 0) {
        std::swap(order[dim0], order[dim1]);
        dim1 = dim0;
      } else if (swap < 0) {
        break;
      }
    }
  }
  return order;
}

Dims strides_in_order(const Dims& sizes, const Order& order) {
  Dims strides(sizes.size());
  std::int64_t next = 1;
  for (const auto dim : order) {
    strides[dim] = next;
    next *= std::max<std::int64_t>(sizes[dim], 1);
  }
  return strides;
}

bool all_contiguous(const Dims& sizes, std::span<const Layout> operands) {
  return std::ranges::all_of(operands, [&](const Layout& operand) {
    return *operand.sizes == sizes && is_contiguous(*operand.sizes, *operand.strides);
  });
}

// TensorIterator's fast set-up: all operands share one dense layout, which the output takes over.
bool all_alike_and_dense(const Dims& sizes, std::span<const Layout> operands) {
  return std::ranges::all_of(operands, [&](const Layout& operand) {
    return *operand.sizes == sizes && *operand.strides == *operands.front().strides &&
           is_non_overlapping_and_dense(*operand.sizes, *operand.strides);
  });
}

}  // namespace

std::int64_t element_count(const Dims& sizes) {
  std::int64_t count = 1;
  for (const auto size : sizes) {
    if (size > 0 && count > kMostElements / size) {
      throw InputError("plan", "tensor sizes", "a tensor would have more than 2^62 elements",
                       "reduce batch, sequence length or the model's sizes");
    }
    count *= size;
  }
  return count;
}

Dims contiguous_strides(const Dims& sizes) {
  Dims strides(sizes.size());
  std::int64_t next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    next *= std::max<std::int64_t>(sizes[i], 1);
  }
  return strides;
}

bool is_contiguous(const Dims& sizes, const Dims& strides) {
  std::int64_t expected = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] == 0) {
      return true;
    }
    if (sizes[i] != 1) {
      if (strides[i] != expected) {
        return false;
      }
      expected *= sizes[i];
    }
  }
  return true;
}

bool is_non_overlapping_and_dense(const Dims& sizes, const Dims& strides) {
  if (is_contiguous(sizes, strides)) {
    return true;
  }
  std::int64_t expected = 1;
  for (const auto dim : by_stride(sizes, strides)) {
    if (sizes[dim] < 2) {
      return true;
    }
    if (strides[dim] != expected) {
      return false;
    }
    expected *= sizes[dim];
  }
  return true;
}

Dims dense_strides(const Dims& sizes, const Dims& strides) {
  const Layout self{&sizes, &strides};
  return strides_in_order(sizes, iteration_order(sizes, {&self, 1}));
}

std::optional<Dims> view_strides(const Dims& old_sizes, const Dims& old_strides,
                                 const Dims& sizes) {
  if (old_sizes.empty()) {
    return Dims(sizes.size(), 1);
  }
  if (element_count(old_sizes) == 0) {
    return old_sizes == sizes ? old_strides : contiguous_strides(sizes);
  }
  Dims strides(sizes.size());
  auto view_dim = static_cast<std::ptrdiff_t>(sizes.size()) - 1;
  std::int64_t chunk_base = old_strides.back();
  std::int64_t tensor_numel = 1;
  std::int64_t view_numel = 1;
  for (std::size_t dim = old_sizes.size(); dim-- > 0;) {
    tensor_numel *= old_sizes[dim];
    const bool chunk_ends =
        dim == 0 || (old_sizes[dim - 1] != 1 && old_strides[dim - 1] != tensor_numel * chunk_base);
    if (!chunk_ends) {
      continue;
    }
    while (view_dim >= 0 &&
           (view_numel < tensor_numel || sizes[static_cast<std::size_t>(view_dim)] == 1)) {
      const auto at = static_cast<std::size_t>(view_dim--);
      strides[at] = view_numel * chunk_base;
      view_numel *= sizes[at];
    }
    if (view_numel != tensor_numel) {
      return std::nullopt;
    }
    if (dim > 0) {
      chunk_base = old_strides[dim - 1];
      tensor_numel = view_numel = 1;
    }
  }
  if (view_dim != -1) {
    return std::nullopt;
  }
  return strides;
}

Dims broadcast(const Dims& left, const Dims& right) {
  const auto& longer = left.size() >= right.size() ? left : right;
  const auto& shorter = left.size() >= right.size() ? right : left;
  Dims result = longer;
  const auto missing = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    if (result[missing + i] == 1) {
      result[missing + i] = shorter[i];
    }
  }
  return result;
}

Dims infer_size(const Dims& sizes, std::int64_t elements) {
  Dims result = sizes;
  const auto open = std::ranges::find(result, -1);
  if (open != result.end()) {
    *open = 1;
    const auto known = element_count(result);
    *open = known == 0 ? 0 : elements / known;
  }
  return result;
}

Dims elementwise_strides(const Dims& sizes, std::span<const Layout> operands) {
  if (operands.empty() || all_contiguous(sizes, operands)) {
    return contiguous_strides(sizes);
  }
  if (all_alike_and_dense(sizes, operands)) {
    return *operands.front().strides;
  }
  return strides_in_order(sizes, iteration_order(sizes, operands));
}

}  // namespace highwater::eager
