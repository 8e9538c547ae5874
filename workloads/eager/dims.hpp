// Sizes and strides of tensors, and the rules by which PyTorch derives one from the other.
//
// Whether a reshape is a view or a copy, and whether a matmul copies its operands, depends on
// strides; a generator that ignores strides gets attention wrong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>

#include <boost/container/static_vector.hpp>

namespace highwater::eager {

inline constexpr std::size_t kMaxDims = 7;

/// Sizes or strides, outermost dimension first.
using Dims = boost::container::static_vector<std::int64_t, kMaxDims>;

/// Whether a reduction leaves the dimensions that it reduces, with size 1.
enum class KeepDim : std::uint8_t { no, yes };

/// Product of all sizes; 1 for a 0-dimensional tensor.
/// @throws InputError if it exceeds 2^62 (a plan whose tensors no device could address).
std::int64_t element_count(const Dims& sizes);

/// Strides of a row-major layout.
Dims contiguous_strides(const Dims& sizes);

/// Tensor.is_contiguous(): row-major, dimensions of size 1 do not count.
bool is_contiguous(const Dims& sizes, const Dims& strides);

/// Every element has its own place and the places leave no gaps, in any order.
bool is_non_overlapping_and_dense(const Dims& sizes, const Dims& strides);

/// Strides of the same order without gaps (at::infer_dense_strides).
Dims dense_strides(const Dims& sizes, const Dims& strides);

/// Strides with which `sizes` can view a tensor of the given layout, if it can be viewed
/// (at::detail::computeStride).
std::optional<Dims> view_strides(const Dims& old_sizes, const Dims& old_strides, const Dims& sizes);

/// The broadcast shape of two shapes (at::infer_size).
Dims broadcast(const Dims& left, const Dims& right);

/// `sizes` with one -1 replaced by what `elements` leaves.
Dims infer_size(const Dims& sizes, std::int64_t elements);

/// `dim` counted from the end if negative.
inline std::size_t wrap(std::int64_t dim, std::size_t rank) {
  return static_cast<std::size_t>(dim < 0 ? dim + static_cast<std::int64_t>(rank) : dim);
}

/// The layout of one operand of an elementwise operation.
struct Layout {
  const Dims* sizes;
  const Dims* strides;
};

/// Strides that TensorIterator gives a new output of shape `sizes` (TensorIterator.cpp:
/// reorder_dimensions, allocate_or_resize_outputs): the order of the operands is kept.
Dims elementwise_strides(const Dims& sizes, std::span<const Layout> operands);

}  // namespace highwater::eager
