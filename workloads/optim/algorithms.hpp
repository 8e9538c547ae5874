// The update rules behind OptimizerRun, one function per file of torch/optim (PyTorch 2.6).
//
// Each function is one call of the Python function of the same name for one parameter group. Only
// operations that allocate or free are modelled; in-place operations (lerp_, addcmul_, addcdiv_,
// the fused kernels, weight decay of AdamW and Adafactor) leave no trace, and step counters live on
// the host unless the fused kernel reads them.
#pragma once

#include <span>
#include <vector>

#include <boost/container/small_vector.hpp>

#include "workloads/optim/expressions.hpp"
#include "workloads/optim/resharding.hpp"
#include "workloads/optim/tensor_vector.hpp"
#include "workloads/plan/optimizer.hpp"

namespace highwater::optim {

/// Which of torch's implementations runs, or DeepSpeed's FusedAdam, which counts steps on the host.
enum class Path : std::uint8_t { foreach, fused, loop, deepspeed };

/// A parameter and what the optimizer keeps for it, in order of creation.
struct Slot {
  Tensor param;  ///< what is updated: the master copy if there is one
  Tensor model;  ///< the model's low-precision parameter behind a master copy, otherwise undefined
  boost::container::small_vector<Tensor, 4> state;
  bool is_initialized = false;  ///< of those that may keep nothing on the GPU
};

using Slots = std::vector<Slot*>;

/// One call of an update rule.
struct Update {
  OptimizerKind kind =
      OptimizerKind::none;  ///< that of the object, which may have another beside it
  Runtime* runtime = nullptr;
  Path path = Path::foreach;
  const Optimizer* choice = nullptr;
  bool decays = false;                     ///< the group's weight_decay is not zero
  int step = 1;                            ///< the first is 1
  const Resharding* resharding = nullptr;  ///< of DTensors
  std::vector<Tensor>* maps = nullptr;     ///< the optimizer object's quantization tables
  Frame* frame = nullptr;                  ///< variables of step(), which go from group to group
  TensorVector* kept_list = nullptr;       ///< one that is a list
};

/// One call of an update rule for one parameter group.
using Algorithm = void (*)(const Update&, const Slots&);

/// The one of `kind`; null for none.
Algorithm algorithm_of(OptimizerKind kind);

/// zeros_like and its kin as a new state tensor of `slot`.
void add_state(Slot& slot, Tensor tensor);

/// `slots` by dtype of the parameter, in the order of torch's groups.
std::vector<Slots> by_dtype(const Slots& slots);

/// The kernels of a multi-tensor operator over the parameters of `slots`; see foreach_kernels().
void launch_foreach(const Slots& slots, int most_tensors);

/// A multi-tensor operator whose results have the shapes of the gradients.
TensorVector foreach_grads(const char* op, const Slots& slots);

/// The same for state tensor `index`.
TensorVector foreach_state(const char* op, const Slots& slots, std::size_t index);

/// torch._foreach_add(grads, params, alpha=weight_decay) into new gradients.
TensorVector decayed_grads(const Slots& slots);

/// What an operator creates for DTensor gradients whose layout differs from that of the tensors it
/// writes to: `uses` of its arguments are lists of them (list_pointwise_strategy in
/// torch/distributed/tensor/_ops/_pointwise_ops.py). Nothing for other gradients.
void redistribute_grads(const Slots& slots, int uses);
void redistribute_grads(const Slot& slot, int uses);

/// The same for operands that were summed by an operator before.
void redistribute_whole_grads(const Slots& slots);

/// The same for what a non-linear operator creates from tensors that are partial sums.
TensorVector summed_grads(const Slots& slots);

void adam(const Update& update, const Slots& slots);   // adam.cpp
void adamw(const Update& update, const Slots& slots);  // adam.cpp
void sgd(const Update& update, const Slots& slots);
void rmsprop(const Update& update, const Slots& slots);
void adagrad_init(Slot& slot);  ///< Adagrad makes its state when it is constructed
void adagrad(const Update& update, const Slots& slots);
void adafactor(const Update& update, const Slots& slots);
void nadam(const Update& update, const Slots& slots);     // moments.cpp
void radam(const Update& update, const Slots& slots);     // moments.cpp
void adamax(const Update& update, const Slots& slots);    // moments.cpp
void adadelta(const Update& update, const Slots& slots);  // moments.cpp
void asgd(const Update& update, const Slots& slots);
void rprop(const Update& update, const Slots& slots);

void muon(const Update& update, const Slots& slots);
void bitsandbytes(const Update& update, const Slots& slots);
void galore_adamw_8bit(const Update& update, const Slots& slots);  // bitsandbytes.cpp

void torchao(const Update& update, const Slots& slots);
void adamw_on_host(const Update& update, const Slots& slots);  // torchao.cpp

void lion(const Update& update, const Slots& slots);                 // elementwise.cpp
void stable_adamw(const Update& update, const Slots& slots);         // elementwise.cpp
void schedule_free_adamw(const Update& update, const Slots& slots);  // elementwise.cpp
void schedule_free_radam(const Update& update, const Slots& slots);  // elementwise.cpp
void schedule_free_sgd(const Update& update, const Slots& slots);    // elementwise.cpp
void adafactor_hf(const Update& update, const Slots& slots);         // factored.cpp
void came(const Update& update, const Slots& slots);                 // factored.cpp
void adalomo_init(Slot& slot);  ///< AdaLomo makes its states when it is constructed
void adalomo(const Update& update, const Slots& slots);  // factored.cpp
void lomo(const Update& update, const Slots& slots);
void galore_adamw(const Update& update, const Slots& slots);  // low_rank.cpp
void apollo_adamw(const Update& update, const Slots& slots);  // low_rank.cpp
void grokadamw(const Update& update, const Slots& slots);

}  // namespace highwater::optim
