#include "workloads/distributed/ddp/power_sgd_hook.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <boost/unordered/unordered_flat_map.hpp>
#include <fmt/format.h>

#include "workloads/eager/dims.hpp"
#include "workloads/kernels/cublas.hpp"
#include "workloads/plan/parallelism.hpp"

namespace highwater::dist {

using eager::OpScope;
using eager::Runtime;
using eager::Tensor;

namespace {

// _orthogonalize_gram_schmidt of one matrix. The reduction of a norm needs the same memory as that
// of a sum.
void orthogonalize_columns(const Tensor& matrix) {
  Runtime& runtime = matrix.runtime();
  const std::int64_t columns = matrix.size(2);
  for (std::int64_t i = 0; i < columns; ++i) {
    const Tensor column = eager::slice(matrix, 2, i, i + 1);
    Tensor norm = eager::sum(column, {1}, eager::KeepDim::yes, column.dtype());
    runtime.launch(1);  // col /= norm
    norm.reset();
    if (i + 1 < columns) {
      const Tensor rest = eager::slice(matrix, 2, i + 1, columns);
      Tensor products = eager::mul(column, rest);
      Tensor sums = eager::sum(products, {1}, eager::KeepDim::yes, products.dtype());
      products.reset();
      const Tensor projection = eager::mul(sums, column);
      sums.reset();
      runtime.launch(1);  // rest -= projection
    }
  }
}

// torch.linalg.qr(out=...): `matrix` is not column-major, so Q and R are computed in separate
// blocks; then tau, and the status of geqrf and of orgqr. What cuSOLVER itself allocates is
// unknown.
void qr(const Tensor& matrix) {
  Runtime& runtime = matrix.runtime();
  const OpScope op(runtime, "linalg_qr", 0);
  const std::int64_t rank = matrix.size(2);
  const auto like = [&](const eager::Dims& sizes, DType dtype) {
    return eager::empty(runtime, sizes, dtype);
  };
  const Tensor r_out = like({1, rank, rank}, matrix.dtype());
  const Tensor q = like(matrix.sizes(), matrix.dtype());
  const Tensor r = like({1, rank, rank}, matrix.dtype());
  const Tensor tau = like({1, rank}, matrix.dtype());
  like({1}, DType::int32);
  like({1}, DType::int32);
}

// _orthogonalize
void orthogonalize(const Tensor& matrix) {
  const bool is_half = item_size(matrix.dtype()) == 2;
  if (matrix.size(2) <= 2 || is_half) {
    orthogonalize_columns(matrix);
  } else {
    qr(matrix);
  }
}

using MatrixShape = std::pair<std::int64_t, std::int64_t>;

// shape_to_tensors: matrices of one shape follow each other, in the order of each shape's first.
std::vector<MatrixShape> grouped(const std::vector<MatrixShape>& shapes) {
  std::vector<MatrixShape> result;
  for (const MatrixShape& shape : shapes) {
    if (std::ranges::find(result, shape) == result.end()) {
      result.insert(result.end(), static_cast<std::size_t>(std::ranges::count(shapes, shape)),
                    shape);
    }
  }
  return result;
}

class PowerSgdHook : public CommHook {
 public:
  PowerSgdHook(const PowerSgd& options, ProcessGroup& group)
      : options_(options), group_(group), runtime_(group.runtime()), streams_(group) {}

  HookFuture run(const GradBucket& bucket) override {
    const eager::NoGrad no_grad(runtime_);
    if (iteration_ < options_.start_iter) {
      iteration_ += bucket.is_last ? 1 : 0;
      return all_reduce_future(group_, streams_, bucket.buffer);
    }
    return compressed(bucket);
  }

 private:
  /// The part of a bucket that persists from one iteration to the next.
  struct Memory {
    Tensor error;
    Tensor p;
    Tensor q;
  };

  /// The parts of P and Q of one gradient; P is released first when the hook's frame ends.
  struct Factors {
    Tensor q;
    Tensor p;
  };

  [[nodiscard]] std::int64_t rank_of(std::int64_t rows, std::int64_t columns) const {
    return std::min({rows, columns, std::int64_t{options_.rank}});
  }

  // _should_compress
  [[nodiscard]] bool is_worth_it(std::int64_t rows, std::int64_t columns) const {
    const auto small = static_cast<double>((rows + columns) * rank_of(rows, columns));
    return small * options_.min_compression_rate < static_cast<double>(rows * columns);
  }

  Tensor communication(Tensor tensor) {
    runtime_.categorize(tensor, Category::communication);
    return tensor;
  }

  HookFuture compressed(const GradBucket& bucket);
  Tensor with_error(Memory& memory, const Tensor& buffer);
  Tensor whole_gradients(const GradBucket& bucket);
  std::vector<Factors> factors(Memory& memory, const GradBucket& bucket);
  void orthogonalize_all(const std::vector<Factors>& factors, Tensor Factors::*which);
  void multiply(const std::vector<Factors>& factors);
  void finish(Memory& memory, const GradBucket& bucket, const Tensor& input);
  void synchronize_device();

  PowerSgd options_;
  ProcessGroup& group_;
  Runtime& runtime_;
  CallbackStreams streams_;
  boost::unordered_flat_map<std::size_t, Memory> memories_;  ///< by bucket
  std::vector<StreamId> with_workspace_;
  int iteration_ = 0;
};

// powerSGD_hook. Apart from the copy of the gradients, only the contents of `memories_` outlive the
// frame.
HookFuture PowerSgdHook::compressed(const GradBucket& bucket) {
  Memory& memory = memories_[bucket.index];
  Tensor input = with_error(memory, bucket.buffer);
  Tensor whole = whole_gradients(bucket);
  const std::vector<Factors> pairs = factors(memory, bucket);
  const HookFuture ps = streams_.then(group_.all_reduce(whole), whole, [&] {
    runtime_.launch(1);  // div_; the copies into gradients are copies of memory
    group_.all_reduce(memory.p).wait();
    runtime_.record_stream(memory.p, runtime_.stream);
  });
  const HookFuture qs = streams_.then(ps, memory.p, [&] {
    orthogonalize_all(pairs, &Factors::p);
    multiply(pairs);
    group_.all_reduce(memory.q).wait();
    runtime_.record_stream(memory.q, runtime_.stream);
  });
  const HookFuture done = streams_.then(qs, memory.q, [&] {
    runtime_.launch(1);  // div_
    multiply(pairs);
    finish(memory, bucket, input);
  });
  whole.reset();
  input.reset();
  return done;
}

// The error of the last iteration is added; a copy shows later what is lost in this one.
Tensor PowerSgdHook::with_error(Memory& memory, const Tensor& buffer) {
  if (!options_.error_feedback) {
    return {};
  }
  if (memory.error.defined()) {
    runtime_.launch(1);  // add_
  } else {
    const OpScope op(runtime_, "zeros");
    memory.error = communication(eager::empty_like(buffer));
  }
  return communication(eager::clone(buffer));
}

// The gradients not worth compressing, in one block.
Tensor PowerSgdHook::whole_gradients(const GradBucket& bucket) {
  std::vector<Tensor> whole;
  for (const Tensor& gradient : bucket.gradients) {
    if (!is_worth_it(gradient.size(0), gradient.numel() / gradient.size(0))) {
      whole.push_back(eager::view(gradient, {-1}));
    }
  }
  if (whole.empty()) {
    return eager::empty(runtime_, {0}, bucket.buffer.dtype());
  }
  return communication(eager::cat(whole, 0));
}

std::vector<PowerSgdHook::Factors> PowerSgdHook::factors(Memory& memory, const GradBucket& bucket) {
  std::vector<MatrixShape> shapes;
  std::int64_t p_elements = 0;
  std::int64_t q_elements = 0;
  for (const Tensor& gradient : bucket.gradients) {
    const std::int64_t rows = gradient.size(0);
    const std::int64_t columns = gradient.numel() / rows;
    if (is_worth_it(rows, columns)) {
      shapes.emplace_back(rows, columns);
      p_elements += rows * rank_of(rows, columns);
      q_elements += columns * rank_of(rows, columns);
    }
  }
  const bool is_new = !options_.warm_start || !memory.p.defined();
  if (is_new) {
    memory.p = communication(eager::empty(runtime_, {p_elements}, bucket.buffer.dtype()));
    memory.q = communication(eager::empty(runtime_, {q_elements}, bucket.buffer.dtype()));
  }
  std::vector<Factors> result;
  std::int64_t p_at = 0;
  std::int64_t q_at = 0;
  for (const auto& [rows, columns] : grouped(shapes)) {
    const std::int64_t rank = rank_of(rows, columns);
    const auto part = [rank](const Tensor& of, std::int64_t& at, std::int64_t length) {
      const std::int64_t from = std::exchange(at, at + length * rank);
      return eager::view(eager::slice(of, 0, from, at), {1, length, rank});
    };
    result.push_back({.q = part(memory.q, q_at, columns), .p = part(memory.p, p_at, rows)});
  }
  for (const Factors& pair : result) {
    if (is_new) {
      runtime_.synchronize();  // numbers from the host, in memory that is not pinned
    }
    orthogonalize(pair.q);
  }
  return result;
}

void PowerSgdHook::orthogonalize_all(const std::vector<Factors>& factors, Tensor Factors::*which) {
  for (const Factors& pair : factors) {
    orthogonalize(pair.*which);
  }
}

// torch.bmm(..., out=...) of each pair. Where cuBLAS keeps a workspace per thread and stream, that
// of the main stream has existed since the backward's first product.
void PowerSgdHook::multiply(const std::vector<Factors>& factors) {
  const CublasWorkspace workspace = cublas_workspace(runtime_.gpu, runtime_.torch);
  const OpScope op(runtime_, "bmm", 0);
  if (workspace.life == WorkspaceLife::per_call) {
    for (std::size_t i = 0; i < factors.size(); ++i) {
      runtime_.allocate(workspace.bytes);
    }
    return;
  }
  if (factors.empty() ||
      std::ranges::find(with_workspace_, runtime_.stream) != with_workspace_.end()) {
    return;
  }
  with_workspace_.push_back(runtime_.stream);
  runtime_.workspaces.push_back(eager::empty(runtime_, {workspace.bytes}, DType::uint8));
  runtime_.categorize(runtime_.workspaces.back(), Category::workspace);
}

// decompress
void PowerSgdHook::finish(Memory& memory, const GradBucket& bucket, const Tensor& input) {
  synchronize_device();
  if (options_.error_feedback) {
    memory.error = communication(eager::sub(input, bucket.buffer));
  }
  if (!options_.warm_start) {
    memory.p.reset();
    memory.q.reset();
  }
  iteration_ += bucket.is_last ? 1 : 0;
}

// torch.cuda.synchronize
void PowerSgdHook::synchronize_device() {
  const eager::Moment now = runtime_.record_event();
  runtime_.synchronize(StreamId(0U), now);
  for (const StreamId stream : streams_.taken()) {
    runtime_.synchronize(stream, now);
  }
}

}  // namespace

std::unique_ptr<CommHook> make_power_sgd_hook(const PowerSgd& options, ProcessGroup& group) {
  return std::make_unique<PowerSgdHook>(options, group);
}

}  // namespace highwater::dist
