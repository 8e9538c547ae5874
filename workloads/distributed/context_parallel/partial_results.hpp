// Results of attention to one part of the keys after the other, merged in fp32 by their logsumexps.
//
// Source: PyTorch 2.15, distributed/tensor/experimental/_context_parallel/_attention.py
// (_SDPAMerger, _partial_update).
#pragma once

#include "workloads/eager/ops.hpp"

namespace highwater::dist {

/// The dimension of the sequence in [b, heads, s, d].
inline constexpr std::int64_t kSequenceDim = 2;

/// What of a rank's two chunks of the sequence takes part.
enum class Chunks : std::uint8_t { both, first, second };

/// A tensor's part along the sequence.
eager::Tensor part_of(const eager::Tensor& whole, Chunks chunks);

/// `whole` with one of its two chunks replaced, joined in a new block (_partial_update).
eager::Tensor with_part(const eager::Tensor& whole, Chunks chunks, const eager::Tensor& part);

class PartialResults {
 public:
  /// Adds a result for `queries` of the rank's queries.
  void add(const eager::Tensor& output, const eager::Tensor& logsumexp, Chunks queries);

  /// The merged output in `dtype`, and the logsumexp in fp32.
  [[nodiscard]] eager::TensorList results(DType dtype) const;

 private:
  void merge(const eager::Tensor& output, const eager::Tensor& logsumexp, Chunks queries);

  eager::Tensor output_;
  eager::Tensor logsumexp_;
};

}  // namespace highwater::dist
