// A group of ranks, seen from one of them: what its collectives do to this rank's memory.
//
// NCCL's collectives run on their own stream, one per communicator, and allocate nothing for the
// data. Until PyTorch 2.8 every participating tensor is recorded on that stream
// (ProcessGroupNCCL.cpp: collective, avoidRecordStreams_ false), so it returns to the cache only
// when the stream is found to have finished. Since then collectives that are waited for at once
// (async_op=False) run on the current stream, and others record nothing
// (github.com/pytorch/pytorch/pull/148590). That they keep their tensors until somebody waits
// (ProcessGroupNCCL.hpp, TensorShelf) is not simulated.
//
// PyTorch's fake process group (testing/_internal/distributed/fake_pg.py) does nothing at all.
#pragma once

#include <cstdint>
#include <span>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/plan/parallel_kinds.hpp"

namespace highwater::dist {

class ProcessGroup;

/// An asynchronous collective (c10d::Work).
class Work {
 public:
  /// Work that is already complete.
  Work() = default;

  Work(ProcessGroup& group, eager::Moment end) : group_(&group), end_(end) {}

  /// The current stream waits for the collective; the host does not.
  void wait() const;

 private:
  ProcessGroup* group_ = nullptr;
  eager::Moment end_ = 0;
};

class ProcessGroup {
 public:
  ProcessGroup(eager::Runtime& runtime, int ranks, CommBackend backend);

  [[nodiscard]] int size() const { return ranks_; }

  [[nodiscard]] eager::Runtime& runtime() const { return runtime_; }

  /// Both work in place, on a contiguous tensor.
  Work all_reduce(const eager::Tensor& tensor);
  Work broadcast(const eager::Tensor& tensor);

  /// To and from a neighbour, point to point.
  Work send(const eager::Tensor& tensor);
  Work receive(const eager::Tensor& tensor);

  /// One flat block with a part for each rank. The current stream waits for both of them
  /// (async_op=False), so no block is recorded on NCCL's stream; `part` may lie in `whole`.
  void all_gather_into_tensor(const eager::Tensor& whole, const eager::Tensor& part);
  void reduce_scatter_tensor(const eager::Tensor& part, const eager::Tensor& whole);

  /// The same without waiting (async_op=True): both blocks are recorded on NCCL's stream.
  Work all_gather_async(const eager::Tensor& whole, const eager::Tensor& part);
  Work reduce_scatter_async(const eager::Tensor& part, const eager::Tensor& whole);

  /// _c10d_functional.all_gather_into_tensor, which gathers lists of tensors: only the input is
  /// recorded (allgather_into_tensor_coalesced). Its counterpart reduces as above.
  Work all_gather_functional(const eager::Tensor& whole, const eager::Tensor& part);

  /// torch.distributed.barrier(): an all-reduce of one number, for which the host waits.
  void barrier();

  /// all_to_all_single: a part of `input` for every rank, a part of `output` from every rank.
  Work all_to_all_single(const eager::Tensor& output, const eager::Tensor& input);

  /// One output per rank, of the input's shape; NCCL gathers into one block first.
  Work all_gather(std::span<const eager::Tensor> outputs, const eager::Tensor& input);

  /// One input per rank, of the output's shape; NCCL copies them into one block first.
  Work reduce_scatter(const eager::Tensor& output, std::span<const eager::Tensor> inputs);

 private:
  friend class Work;

  [[nodiscard]] bool records_streams() const;
  void use(const eager::Tensor& tensor);
  Work start();
  Work in_place(const char* name, const eager::Tensor& tensor);
  Work async(const char* name, const eager::Tensor& part, const eager::Tensor& whole);
  Work from_input(const char* name, const eager::Tensor& input, const eager::Tensor& output);

  eager::Runtime& runtime_;
  int ranks_;
  CommBackend backend_;
  StreamId stream_;
  eager::Tensor barrier_token_;  ///< the dispatcher's tensor of the last barrier
};

}  // namespace highwater::dist
