#include "workloads/distributed/context_parallel/partial_results.hpp"

#include <utility>

#include "traces/error.hpp"

namespace highwater::dist {

using eager::Tensor;
using eager::TensorList;

namespace {

constexpr std::int64_t kChunks = 2;

// F.logsigmoid: its buffer is empty on the GPU.
Tensor log_sigmoid(const Tensor& self) {
  return eager::pointwise("log_sigmoid_forward", {self}, self.dtype());
}

// out - sigmoid(block_lse - lse) * (out - block_out)
Tensor merged_output(const Tensor& out, const Tensor& lse, const Tensor& block_out,
                     const Tensor& block_lse) {
  Tensor weight = eager::sigmoid(eager::sub(block_lse, lse));
  Tensor change = eager::sub(out, block_out);
  const Tensor weighted = eager::mul(weight, change);
  eager::end_of_frame(weight, change);
  return eager::sub(out, weighted);
}

// lse - logsigmoid(lse - block_lse)
Tensor merged_logsumexp(const Tensor& lse, const Tensor& block_lse) {
  const Tensor log = log_sigmoid(eager::sub(lse, block_lse));
  return eager::sub(lse, log);
}

}  // namespace

Tensor part_of(const Tensor& whole, Chunks chunks) {
  if (chunks == Chunks::both) {
    return whole;
  }
  return eager::chunk(whole, kChunks, kSequenceDim)[chunks == Chunks::first ? 0 : 1];
}

Tensor with_part(const Tensor& whole, Chunks chunks, const Tensor& part) {
  TensorList parts = eager::chunk(whole, kChunks, kSequenceDim);
  parts[chunks == Chunks::first ? 0 : 1] = part;
  return eager::cat(parts, kSequenceDim);
}

void PartialResults::add(const Tensor& output, const Tensor& logsumexp, Chunks queries) {
  if (logsumexp.size(kSequenceDim) != output.size(kSequenceDim)) {
    throw InputError(
        "plan", "cp",
        "the efficient kernel pads its logsumexp to 32 rows, which PyTorch then cannot "
        "merge with the results",
        "use a seq that is a multiple of 64 * cp, or precision bf16");
  }
  Tensor wide_output = eager::to_dtype(output, DType::fp32);
  Tensor wide_logsumexp = eager::unsqueeze(eager::to_dtype(logsumexp, DType::fp32), -1);
  if (output_.defined()) {
    merge(wide_output, wide_logsumexp, queries);
  } else {
    logsumexp_ = wide_logsumexp;
    output_ = wide_output;
  }
  eager::end_of_frame(wide_output, wide_logsumexp);
}

void PartialResults::merge(const Tensor& output, const Tensor& logsumexp, Chunks queries) {
  Tensor lse = part_of(logsumexp_, queries);
  Tensor out = part_of(output_, queries);
  out = merged_output(out, lse, output, logsumexp);
  lse = merged_logsumexp(lse, logsumexp);
  logsumexp_ = queries == Chunks::both ? lse : with_part(logsumexp_, queries, lse);
  output_ = queries == Chunks::both ? out : with_part(output_, queries, out);
  eager::end_of_frame(lse, out);
}

TensorList PartialResults::results(DType dtype) const {
  const Tensor output = eager::to_dtype(output_, dtype);
  return {output, eager::squeeze(logsumexp_, -1)};
}

}  // namespace highwater::dist
