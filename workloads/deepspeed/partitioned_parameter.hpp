// A parameter that ZeRO-3 partitions over the ranks, and the gathering of several of them at once.
//
// Source: DeepSpeed 0.16.4, runtime/zero/partition_parameters.py (Init, _partition_param,
// all_gather_coalesced, AllGatherHandle, AllGatherCoalescedHandle). One parameter alone is gathered
// into the block that it lives in; several go through one flat block, from which each is copied
// once the first of them is waited for. The flat block lives until every parameter has been
// fetched.
//
// hpZeRO (zero_hpz_partition_size; 0.19.8, _partition_param_sec) keeps a second copy of parameters,
// partitioned over the ranks of a group, usually a machine. It is made when parameters are
// partitioned and gathered from until a step invalidates it (stage3.py:
// invalidate_secondary_tensor).
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "workloads/distributed/process_group.hpp"
#include "workloads/nn/module.hpp"

namespace highwater::deepspeed {

enum class ParameterStatus : std::uint8_t { available, partitioned, in_flight };

/// offload_param: on the GPU without it, otherwise in the host's memory or on NVMe. What is too
/// small for NVMe stays on the host.
enum class PartitionPlace : std::uint8_t { gpu, pageable, pinned, nvme, nvme_and_pinned };

/// The ranks that parameters are partitioned over, and those that share a second copy of each one,
/// a part of them (zero_hpz_partition_size); 0: there is none.
struct PartitionRanks {
  int all = 1;
  int sharing_second_copy = 0;
};

struct PartitionedParameter {
  eager::Tensor tensor;    ///< the module's parameter; without data while it is partitioned
  eager::Dims sizes;       ///< ds_shape
  std::int64_t numel = 0;  ///< ds_numel
  std::int64_t partition_numel = 0;  ///< elements per rank, the last rank's padded
  eager::Tensor partition;           ///< ds_tensor
  eager::Tensor second_copy;         ///< ds_secondary_tensor: this rank's part, if there is one
  std::int64_t second_numel = 0;     ///< its elements; 0: none is made
  std::size_t id = 0;                ///< ds_id: its place among model.parameters()
  bool persists = false;             ///< too small to be partitioned again before the step
  bool is_on_host = false;           ///< offload_param
  bool is_on_nvme = false;           ///< ds_tensor.final_location
  bool is_swapped_out = false;       ///< ds_tensor.status: it has to be read before it is gathered
  std::optional<std::size_t> nvme_sub_group;  ///< its sub-group, if the optimizer's part is on NVMe
  ParameterStatus status = ParameterStatus::available;
  std::set<const nn::Module*> active;  ///< modules that are using it

  /// param.partition() the first time: this rank's part gets a block of its own, `where` it stays.
  void split(PartitionRanks ranks, PartitionPlace where);

  /// param.partition() later on: without a second copy this rank's part of it is made. free_param:
  /// the gathered data are freed once the current stream has finished with them.
  void release();

  /// Elements that this rank contributes when it is gathered: of the second copy, if there is one.
  [[nodiscard]] std::int64_t gathered_numel() const {
    return second_copy.defined() ? second_numel : partition_numel;
  }

 private:
  void make_second_copy();

  bool is_pinned_ = false;
};

/// An all-gather under way. Parameters of different types go through a flat block for each type.
class Gather {
 public:
  /// Starts it on the current stream. `parameters` are partitioned; the order does not matter.
  /// Either all have a second copy, and `group` shares it, or none.
  Gather(dist::ProcessGroup& group, std::vector<PartitionedParameter*> parameters);

  /// Waits, on the current stream; the parameters are available then.
  void wait();

 private:
  /// What one collective gathers.
  struct Part {
    std::vector<PartitionedParameter*> parameters;
    eager::Tensor flat;  ///< of several
    dist::Work work;
  };

  void start_one();
  void start_several();
  Part started(std::vector<PartitionedParameter*> parameters);
  void wait(Part& part);

  dist::ProcessGroup& group_;
  std::vector<PartitionedParameter*> parameters_;
  std::vector<Part> parts_;
  bool is_complete_ = false;
};

/// param.all_gather() of one parameter, which blocks (0.16.4, _allgather_params): a flat block
/// first, then the parameter's.
void gather_now(dist::ProcessGroup& group, PartitionedParameter& parameter);

/// The same in 0.19.8 (_allgather_params_sequential): into the block that it lives in.
void gather_sequentially(dist::ProcessGroup& group, PartitionedParameter& parameter);

/// Several (_allgather_params_coalesced): one block each.
void gather_now(dist::ProcessGroup& group, std::span<PartitionedParameter* const> parameters);

}  // namespace highwater::deepspeed
