#include "workloads/megatron/data_parallel/optimizer_shards.hpp"

#include "workloads/megatron/data_parallel/ddp.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/strategy/optimizer_targets.hpp"

namespace highwater::megatron {
namespace {

/// The layout of one DistributedDataParallel.
struct Buffer {
  std::vector<nn::NamedTensor> named;
  int ranks = 1;
  BufferLayout layout;
};

Buffer buffer_of(std::vector<nn::NamedTensor> named, const Parallelism& plan, int ranks,
                 std::optional<std::size_t> shared, Shards shards = Shards::bytes) {
  Buffer buffer{.named = std::move(named), .ranks = ranks, .layout = {}};
  buffer.layout = layout_buffer(numels_of(buffer.named), {.ranks = ranks,
                                                          .is_distributed = true,
                                                          .bucket_size = bucket_size(plan),
                                                          .shared_embedding = shared,
                                                          .shards = shards});
  return buffer;
}

/// The parts of all matrices or of all vectors that the rank at `place` has.
void add_parts(const Buffer& buffer, int place, bool are_matrices,
               std::vector<std::int64_t>& sizes) {
  for (std::size_t i = buffer.named.size(); i-- > 0;) {
    const GroupPlace group{.ranks = buffer.ranks, .rank = place};
    const auto part = owned_part(buffer.layout, i, group);
    if (part && (buffer.named[i].tensor.dim() > 1) == are_matrices) {
      sizes.push_back(part->size());
    }
  }
  sizes.push_back(0);
}

void add_parts(const Buffer& buffer, int place, std::vector<std::int64_t>& sizes) {
  add_parts(buffer, place, true, sizes);
  add_parts(buffer, place, false, sizes);
}

}  // namespace

std::vector<std::vector<std::int64_t>> optimizer_shards(nn::Module& model,
                                                        const TrainingPlan& plan) {
  const Parallelism& p = plan.parallel;
  mark_optimizer_targets(model, plan.optimizer.kind);
  const auto all = dense_parameters(model, p);
  const auto dense = is_layer_wise(plan) ? others_of(all) : all;
  const Buffer buffer = buffer_of(dense, p, data_group(p).ranks, shared_embedding(dense, plan));
  std::optional<Buffer> matrices;
  if (is_layer_wise(plan)) {
    matrices =
        buffer_of(matrices_of(all), p, data_group(p).ranks, std::nullopt, Shards::parameters);
  }
  std::optional<Buffer> experts;
  if (p.ep > 1) {
    experts = buffer_of(expert_parameters(model, p), p, expert_data_group(p).ranks, std::nullopt,
                        is_layer_wise(plan) ? Shards::parameters : Shards::bytes);
  }
  std::vector<std::vector<std::int64_t>> shards(static_cast<std::size_t>(data_group(p).ranks));
  for (std::size_t place = 0; place < shards.size(); ++place) {
    add_parts(buffer, static_cast<int>(place), shards[place]);
    if (matrices) {
      add_parts(*matrices, static_cast<int>(place), shards[place]);
    }
    if (experts) {
      add_parts(*experts, static_cast<int>(place) * p.tp / ranks_of_experts(p), shards[place]);
    }
  }
  return shards;
}

}  // namespace highwater::megatron
