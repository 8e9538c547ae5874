// A group of ranks, seen from one of them: what its collectives do to this rank's memory.
//
// NCCL's collectives run on a stream of their own, one per communicator, and allocate nothing for
// the data. Until PyTorch 2.8 every tensor that takes part is recorded on that stream
// (ProcessGroupNCCL.cpp: collective, avoidRecordStreams_ false), so it returns to the cache only
// when the stream is found to be through.
//
// PyTorch's fake process group (testing/_internal/distributed/fake_pg.py) does nothing at all.
#pragma once

#include <cstdint>
#include <span>

#include "workloads/eager/ops.hpp"
#include "workloads/eager/runtime.hpp"
#include "workloads/training_plan.hpp"

namespace highwater::dist {

class ProcessGroup;

/// An asynchronous collective (c10d::Work).
class Work {
 public:
  /// Work that is done already.
  Work() = default;

  Work(ProcessGroup& group, std::uint64_t position) : group_(&group), position_(position) {}

  /// The main stream waits for the collective; the host does not.
  void wait() const;

 private:
  ProcessGroup* group_ = nullptr;
  std::uint64_t position_ = 0;
};

class ProcessGroup {
 public:
  ProcessGroup(eager::Runtime& runtime, int ranks, CommBackend backend);

  [[nodiscard]] int size() const { return ranks_; }

  [[nodiscard]] eager::Runtime& runtime() const { return runtime_; }

  /// Both work in place, on a contiguous tensor.
  Work all_reduce(const eager::Tensor& tensor);
  Work broadcast(const eager::Tensor& tensor);

  /// One output per rank, of the input's shape; NCCL gathers into one block first.
  Work all_gather(std::span<const eager::Tensor> outputs, const eager::Tensor& input);

  /// One input per rank, of the output's shape; NCCL copies them into one block first.
  Work reduce_scatter(const eager::Tensor& output, std::span<const eager::Tensor> inputs);

 private:
  friend class Work;

  Work in_place(const char* name, const eager::Tensor& tensor);

  eager::Runtime& runtime_;
  int ranks_;
  CommBackend backend_;
  StreamId stream_;
};

}  // namespace highwater::dist
