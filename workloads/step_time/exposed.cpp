#include "workloads/step_time/exposed.hpp"

#include <algorithm>

#include "workloads/plan/offload.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::timing {
namespace {

/// Memory of the host per GPU: 2 x 8 channels of DDR4-3200 for eight GPUs (DGX A100).
constexpr double kHostMemory = 51e9;

/// NVMe per GPU when all of a machine's GPUs use it (ZeRO-Infinity, arXiv 2104.07857, figure 2b).
constexpr double kNvme = 1.6e9;

double waited_for(double seconds, double beside) {
  return std::max(0.0, seconds - beside);
}

double bytes_of_hidden(const Rank& rank) {
  return rank.share.tokens * static_cast<double>(rank.sizes.hidden) * rank.rates.element;
}

/// Forward and backward once each, forward's part again where it is repeated.
double directions(const Rank& rank) {
  return 2 + rank.recomputed;
}

Group tensor_group(const Parallelism& p) {
  return {.ranks = p.tp, .stride = 1};
}

/// Parameters of one kind that a rank holds before they are sharded, and who shares them.
struct Held {
  double parameters = 0;
  Group shards;
  Group replicas;
};

Held dense_layer(const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  const int shards = p.dp * p.cp / p.fsdp.replicas;
  return {(rank.sizes.layer_parameters - rank.sizes.expert_parameters) / p.tp,
          {shards, p.tp},
          {p.fsdp.replicas, p.tp * shards}};
}

Held expert_layer(const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  return {rank.sizes.expert_parameters / ranks_of_experts(p),
          {std::max(1, expert_data_group(p).ranks), ranks_of_experts(p)},
          {}};
}

Held ends(const Rank& rank) {
  Held held = dense_layer(rank);
  held.parameters =
      rank.sizes.ends_parameters / rank.plan->parallel.tp / (rank.plan->parallel.pp > 1 ? 2 : 1);
  return held;
}

double model_element(const TrainingPlan& plan) {
  return static_cast<double>(item_size(model_dtype(plan.precision)));
}

double gathered_element(const TrainingPlan& plan) {
  const auto& dtype = plan.parallel.fsdp.param_dtype;
  return dtype ? static_cast<double>(item_size(*dtype)) : model_element(plan);
}

double reduced_element(const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  if (runs_megatron_core(plan)) {
    return p.megatron.fp32_grads ? 4 : 2;
  }
  return p.fsdp.reduce_dtype ? static_cast<double>(item_size(*p.fsdp.reduce_dtype))
                             : gathered_element(plan);
}

double gather(const Held& held, double element, const Rank& rank) {
  return all_gather(held.parameters * element, held.shards, rank.machine);
}

/// Summed over the shards, each with its part, and then over copies of the model.
double reduce(const Held& held, double element, const Rank& rank) {
  const double bytes = held.parameters * element;
  return reduce_scatter(bytes, held.shards, rank.machine) +
         all_reduce(bytes / held.shards.ranks, held.replicas, rank.machine);
}

double forward_of_layer(const Rank& rank) {
  return rank.layer.forward.total();
}

double backward_of_layer(const Rank& rank) {
  return rank.layer.backward.total() + rank.again;
}

/// Parameters of each layer are gathered before its forward and its backward, for each micro-batch,
/// whether or not they are trained; only gradients of trained ones are reduced.
DataParallelTime with_sharded_parameters(const Rank& rank) {
  const TrainingPlan& plan = *rank.plan;
  const Held layer = dense_layer(rank);
  const Held last = ends(rank);
  const double trained = rank.share.trains_weights ? 1 : 0;
  const double gathering = gather(layer, gathered_element(plan), rank);
  const double reducing = trained * reduce(layer, reduced_element(plan), rank);
  const double forward = waited_for(gathering, forward_of_layer(rank));
  const double backward = waited_for(gathering + reducing, backward_of_layer(rank));
  const double first = gather(last, gathered_element(plan), rank) + gathering;
  const double tail = trained * reduce(last, reduced_element(plan), rank);
  return {.per_micro_batch = rank.layers * (forward + backward) + first + tail};
}

/// Gradients of all layers; of experts among those that hold the same.
double reduce_all(const Rank& rank, double element) {
  return rank.layers * (reduce(dense_layer(rank), element, rank) +
                        reduce(expert_layer(rank), element, rank)) +
         reduce(ends(rank), element, rank);
}

double gather_all(const Rank& rank, double element) {
  return rank.layers * (gather(dense_layer(rank), element, rank) +
                        gather(expert_layer(rank), element, rank)) +
         gather(ends(rank), element, rank);
}

/// One all-reduce is as long as a reduction with a gather.
double all_reduce_all(const Rank& rank, double element) {
  return reduce_all(rank, element) + gather_all(rank, element);
}

double whole_forward(const Rank& rank) {
  return rank.layers * forward_of_layer(rank);
}

double whole_backward(const Rank& rank) {
  return rank.layers * backward_of_layer(rank);
}

DataParallelTime megatron_data_parallel(const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  const bool is_sharded = p.dp_kind == DataParallel::zero1;
  const bool is_apex = rank.plan->framework == Framework::nemo;
  const double element = reduced_element(*rank.plan);
  const double beside_reduction =
      p.megatron.overlap_grad_reduce || is_apex ? whole_backward(rank) : 0;
  const double beside_gather = p.megatron.overlap_param_gather || is_apex ? whole_forward(rank) : 0;
  const double reduction = is_sharded ? reduce_all(rank, element) : all_reduce_all(rank, element);
  const double gathering = is_sharded ? gather_all(rank, model_element(*rank.plan)) : 0;
  return {.per_step =
              waited_for(reduction, beside_reduction) + waited_for(gathering, beside_gather)};
}

/// DistributedDataParallel sums in buckets during backward, in each micro-batch unless told. A
/// ZeroRedundancyOptimizer then broadcasts each rank's part, which is a gather of all.
DataParallelTime ddp_time(const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  const double element = model_element(*rank.plan);
  const double waited = waited_for(all_reduce_all(rank, element), whole_backward(rank));
  const double sending = spreads_states(p.ddp) ? gather_all(rank, element) : 0;
  return p.no_sync ? DataParallelTime{.per_step = waited + sending}
                   : DataParallelTime{.per_micro_batch = waited, .per_step = sending};
}

/// DeepSpeed's stages 0 to 2: gradients once a step, with stage 2 for each micro-batch; the
/// parameters once.
DataParallelTime zero_time(const Rank& rank, int stage) {
  const double element = model_element(*rank.plan);
  const double beside =
      rank.plan->parallel.zero.overlaps(std::max(stage, 1)) ? whole_backward(rank) : 0;
  if (stage == 0) {
    return {.per_step = waited_for(all_reduce_all(rank, element), beside)};
  }
  const double reduction = waited_for(reduce_all(rank, element), beside);
  const double gathering = gather_all(rank, element);
  return stage == 1 ? DataParallelTime{.per_step = reduction + gathering}
                    : DataParallelTime{.per_micro_batch = reduction, .per_step = gathering};
}

double held_parameters(const Rank& rank) {
  return rank.layers * (dense_layer(rank).parameters + expert_layer(rank).parameters) +
         ends(rank).parameters;
}

bool shards_states(const Parallelism& p) {
  return (p.dp_kind != DataParallel::ddp && p.dp_kind != DataParallel::zero0) ||
         spreads_states(p.ddp);
}

double updated_parameters(const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  const int shards = shards_states(p) ? p.dp * p.cp / p.fsdp.replicas : 1;
  const double trained = rank.share.trains_weights ? 1 : 0;
  return trained * held_parameters(rank) / shards;
}

/// Adam reads a gradient, and reads and writes a parameter and two moments; where parameters are
/// copied to 16 bits, that is written, too.
double update_bytes(const TrainingPlan& plan) {
  const bool is_fp32 = model_dtype(plan.precision) == DType::fp32;
  const bool has_copy =
      runs_megatron_core(plan) || uses_deepspeed(plan) || plan.optimizer.master_weights;
  const double element = is_fp32 || has_copy ? 4 : 2;
  return 7 * element + (has_copy ? 2 : 0);
}

double offloaded_share(const Parallelism& p) {
  return p.dp_kind == DataParallel::zero3 ? p.zero.offload_ratio : 1;
}

/// The optimizer's part on the host: gradients there, parameters back, the update in its memory.
double offloaded_update(const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  if (!offloads_optimizer(p) && !fsdp_offloads(p)) {
    return 0;
  }
  const double parameters = offloaded_share(p) * updated_parameters(rank);
  const double element = model_element(*rank.plan);
  const double states = update_bytes(*rank.plan) * parameters;
  const bool is_nvme = p.zero.optimizer_device == OffloadDevice::nvme;
  return 2 * element * parameters / rank.machine.host + states / (is_nvme ? kNvme : kHostMemory);
}

/// Parameters come from the host twice in each micro-batch, beside the kernels.
double offloaded_parameters(const Rank& rank) {
  const TrainingPlan& plan = *rank.plan;
  if (!offloads_params(plan.parallel)) {
    return 0;
  }
  const bool is_nvme = plan.parallel.zero.param_device == OffloadDevice::nvme;
  const double rate = is_nvme ? kNvme : rank.machine.host;
  const double shard = held_parameters(rank) / (plan.parallel.dp * plan.parallel.cp);
  const double seconds = 2 * gathered_element(plan) * shard / rate;
  return plan.grad_accum * waited_for(seconds, whole_forward(rank) + whole_backward(rank));
}

/// Each step of the ring merges its part of the output into that so far, in fp32: two operands and
/// a result; on the way back the gradients of queries, keys and values (Transformer Engine,
/// context_parallel.py, flash_attn_fwd_out_correction).
double merging(const Rank& rank, double elements) {
  constexpr double kBytes = 3 * 4;
  return kBytes * rank.share.tokens * elements / rank.plan->parallel.tp / rank.machine.memory;
}

/// Forward's sum is made of `parts`, each as soon as its part of the product is there: the last has
/// nothing beside it (Transformer Engine, module/base.py initialize_ub, method pipeline: 4 splits).
double summed_in_parts(double seconds, double product) {
  constexpr double kParts = 4;
  return seconds / kParts + (kParts - 1) / kParts * waited_for(seconds, product);
}

/// The ring's steps go on beside the products of what has arrived; a rank starts with its own part
/// (there, method ring_exchange).
double gathered_in_ring(double seconds, double product, int ranks) {
  return waited_for(seconds, product * (ranks - 1) / ranks);
}

/// What is waited for at two products of Megatron-Core's, the first split by columns and the second
/// by rows, in all directions. With sequence parallelism the tokens are gathered before the first
/// and the sum scattered after the second; in backward gradients are gathered for the second, and
/// the first gathers its input again beside the gradient of it, whose sum is scattered beside the
/// gradient of the weights (megatron-core 0.16.1, tensor_parallel/layers.py
/// LinearWithGradAccumulationAndAsyncCommunication; arXiv 2205.05198, section 4.2.2). Without it
/// each pair has a sum forward, and one backward beside the gradient of the weights.
double sums_of_pair(const ProductTime& first, const ProductTime& second, TensorSums sums,
                    const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  const double bytes = bytes_of_hidden(rank);
  const double forwards = 1 + rank.recomputed;
  if (!p.sequence_parallel) {
    const double sum = all_reduce(bytes, tensor_group(p), rank.machine);
    return forwards * sum + waited_for(sum, first.weights);
  }
  const double gather = all_gather(bytes, tensor_group(p), rank.machine);
  const double scatter = reduce_scatter(bytes, tensor_group(p), rank.machine);
  const double beside = waited_for(gather, first.input) + waited_for(scatter, first.weights);
  if (sums == TensorSums::waited_for) {
    return forwards * (gather + scatter) + gather + beside;
  }
  return forwards * (gathered_in_ring(gather, first.forward, p.tp) +
                     summed_in_parts(scatter, second.forward)) +
         gathered_in_ring(gather, second.input, p.tp) + beside;
}

}  // namespace

double tensor_parallel(const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  if (p.tp == 1) {
    return 0;
  }
  if (!runs_megatron_core(*rank.plan)) {
    return 2 * directions(rank) * all_reduce(bytes_of_hidden(rank), tensor_group(p), rank.machine);
  }
  const LayerProducts& products = rank.layer.products;
  const bool has_mixture = rank.sizes.experts > 1;
  return sums_of_pair(products.into_attention, products.out_of_attention, rank.sums, rank) +
         sums_of_pair(products.into_mlp, products.out_of_mlp,
                      has_mixture ? TensorSums::waited_for : rank.sums, rank);
}

/// Keys and values go around once, their gradients beside them on the way back. A message's start
/// is waited for, its bytes travel while the tokens at hand are attended to.
double context_parallel(const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  const double bytes =
      2 * rank.share.tokens * static_cast<double>(rank.sizes.keys) / p.tp * rank.rates.element;
  const Group ring{p.cp, p.tp};
  const double steps = p.cp - 1;
  const double travel = steps * bytes / rate_of(ring, rank.machine);
  const double starts = steps * start_of_message(ring);
  const double beside = steps / p.cp;
  const auto queries = static_cast<double>(rank.sizes.queries);
  const auto keys = static_cast<double>(rank.sizes.keys);
  const double forward = starts + steps * merging(rank, queries) +
                         waited_for(travel, beside * rank.layer.forward.attention);
  const double backward = starts + steps * merging(rank, queries + 2 * keys) +
                          waited_for(2 * travel, beside * rank.layer.backward.attention);
  return (1 + rank.recomputed) * forward + backward;
}

double expert_parallel(const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  const double bytes = bytes_of_hidden(rank) * static_cast<double>(rank.sizes.chosen) / p.tp;
  return 2 * directions(rank) * all_to_all(bytes, {p.ep, expert_tp(p)}, rank.machine);
}

DataParallelTime data_parallel(const Rank& rank) {
  const TrainingPlan& plan = *rank.plan;
  const Parallelism& p = plan.parallel;
  const bool is_shared = p.dp * p.cp > 1;
  const bool gathers = p.dp_kind == DataParallel::zero3 || is_fsdp1(p) || is_fsdp2(p);
  if (!is_shared || !(rank.share.trains_weights || (gathers && !runs_megatron_core(plan)))) {
    return {};
  }
  if (runs_megatron_core(plan)) {
    return megatron_data_parallel(rank);
  }
  switch (p.dp_kind) {
    case DataParallel::ddp:
      return ddp_time(rank);
    case DataParallel::zero0:
      return zero_time(rank, 0);
    case DataParallel::zero1:
      return zero_time(rank, 1);
    case DataParallel::zero2:
      return zero_time(rank, 2);
    case DataParallel::zero3:
    case DataParallel::fsdp1:
    case DataParallel::fsdp2:
      return with_sharded_parameters(rank);
  }
  return {};
}

double optimizer_update(const Rank& rank) {
  const Parallelism& p = rank.plan->parallel;
  const double here = fsdp_offloads(p) ? 0 : offloads_optimizer(p) ? 1 - offloaded_share(p) : 1;
  return here * updated_parameters(rank) * update_bytes(*rank.plan) / rank.machine.memory;
}

double offloading(const Rank& rank) {
  return offloaded_update(rank) + offloaded_parameters(rank);
}

}  // namespace highwater::timing
