// The styles of torch.distributed.tensor.parallel: what each does to a module's parameters, and
// which layouts it gives the module's input and output.
//
// Mirrors torch/distributed/tensor/parallel/style.py of PyTorch 2.6 on a mesh of one dimension.
// Colwise splits a linear layer by output rows, rowwise by input rows; a table is split by rows.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "workloads/distributed/tensor_parallel/dtensor_functions.hpp"
#include "workloads/eager/dtensor_spec.hpp"
#include "workloads/models/language_model.hpp"
#include "workloads/nn/layers.hpp"

namespace highwater::dist {

/// Dimension of hidden states along which sequence parallelism cuts.
inline constexpr std::int64_t kSequenceDim = 1;

/// The input of a colwise linear layer.
enum class ColwiseInput : std::uint8_t {
  local,       ///< an ordinary tensor, the same on each rank
  replicated,  ///< a DTensor of that layout
  sequence     ///< a DTensor cut along the sequence
};

/// The output of a colwise linear layer.
enum class ColwiseOutput : std::uint8_t {
  local,       ///< this rank's columns as an ordinary tensor
  replicated,  ///< all columns
  dtensor      ///< this rank's columns as a DTensor: for the loss
};

/// The output of a rowwise layer.
enum class RowwiseOutput : std::uint8_t {
  replicated,  ///< the same on each rank
  sequence     ///< cut along the sequence
};

/// Applies styles to modules of one model; owns the layout information of the parameters.
class ParallelStyles {
 public:
  /// Another model of the process has been split where `order` is further.
  explicit ParallelStyles(DeviceMesh& mesh, ModelOrder order = ModelOrder::first)
      : mesh_(mesh), tracks_random_state_(order == ModelOrder::further) {}

  ParallelStyles(const ParallelStyles&) = delete;
  ParallelStyles& operator=(const ParallelStyles&) = delete;

  void colwise(nn::Linear& linear, ColwiseInput input, ColwiseOutput output);

  void rowwise(nn::Linear& linear, RowwiseOutput output);
  void rowwise(nn::Embedding& embedding, RowwiseOutput output);

  /// SequenceParallel: a norm on a part of the sequence, its parameters replicated.
  void sequence(nn::Module& norm);

  /// PrepareModuleInput from Shard(1) to Replicate of the first argument.
  void gather_input(nn::Module& module);

 private:
  eager::Tensor shard(const eager::Tensor& parameter, std::int64_t dim, eager::Placement gradient);
  void replicate(const eager::Tensor& parameter, eager::Placement gradient);
  const eager::DTensorSpec& make_spec(const eager::Tensor& whole, std::int64_t dim,
                                      eager::Placement own, eager::Placement gradient);
  void track_random_state();

  DeviceMesh& mesh_;
  bool tracks_random_state_;
  std::deque<eager::DTensorSpec> specs_;
};

}  // namespace highwater::dist
