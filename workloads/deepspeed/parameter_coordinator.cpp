#include "workloads/deepspeed/parameter_coordinator.hpp"

#include <algorithm>
#include <utility>

#include "workloads/plan/training_plan.hpp"

namespace highwater::deepspeed {

using eager::Scoped;
using eager::Tensor;

namespace {

bool contains(const nn::Module& module, const nn::Module& other) {
  return std::ranges::any_of(module.children(), [&other](const nn::Module* child) {
    return child == &other || contains(*child, other);
  });
}

}  // namespace

ParameterCoordinator::ParameterCoordinator(dist::ProcessGroup& group,
                                           dist::ProcessGroup& second_copies,
                                           const TrainingPlan& plan, Owned parameters_of)
    : group_(group),
      second_copies_(second_copies),
      runtime_(group.runtime()),
      options_(plan.parallel.zero),
      parameters_of_(std::move(parameters_of)),
      is_recent_(is_recent_deepspeed(plan.versions)),
      buffers_(options_.param_buffer_count) {
  stream_ = options_.overlaps(3) ? runtime_.make_stream() : runtime_.stream;
}

// _clean_inflight_param_registry.
void ParameterCoordinator::wait_for_flying() {
  for (auto& [parameter, gathering] : flying_) {
    gathering->wait();
    release(*parameter);
  }
  flying_.clear();
}

void ParameterCoordinator::begin_forward() {
  wait_for_flying();
  if (mode_ != Mode::complete) {
    compare_over_ranks(order_.size());
    if (mode_ == Mode::record) {
      complete_trace();
    } else {
      mode_ = Mode::record;
    }
  }
  queue_.assign(parameter_order_.begin(), parameter_order_.end());
  fetched_for_.clear();
  step_ = 0;
}

// construct_parameter_trace_from_module_trace.
void ParameterCoordinator::complete_trace() {
  for (std::size_t step = 0; step < order_.size(); ++step) {
    for (PartitionedParameter* parameter : parameters_of_(*order_[step])) {
      parameter_order_.push_back({parameter, static_cast<std::int64_t>(step)});
    }
  }
  compare_over_ranks(parameter_order_.size());
  compare_over_ranks(parameter_order_.size());
  mode_ = Mode::complete;
}

// assert_ints_same_as_other_ranks: rank 0's numbers are broadcast and read by the host, in 0.19.8
// (assert_lst_len_same_as_other_ranks) after their count.
void ParameterCoordinator::compare_over_ranks(std::size_t numbers) {
  const eager::OpScope op(runtime_, "deepspeed::assert_ints_same_as_other_ranks");
  if (is_recent_) {
    broadcast_numbers(1);
  }
  broadcast_numbers(numbers);
}

void ParameterCoordinator::broadcast_numbers(std::size_t count) {
  const Tensor list = eager::empty(runtime_, {static_cast<std::int64_t>(count)}, DType::int64);
  runtime_.categorize(list, Category::communication);
  group_.broadcast(list).wait();
  runtime_.synchronize();
}

// A module out of order invalidates the recorded order until the next forward.
void ParameterCoordinator::check_trace(const nn::Module& module) {
  const auto step = static_cast<std::size_t>(step_);
  if (mode_ == Mode::complete && (step >= order_.size() || order_[step] != &module)) {
    mode_ = Mode::invalid;
    order_.clear();
    parameter_order_.clear();
    fetched_for_.clear();
    queue_.clear();
    wait_for_flying();
  }
  if (mode_ == Mode::record) {
    order_.push_back(&module);
  }
}

void ParameterCoordinator::fetch(const nn::Module& module) {
  const eager::NoGrad no_grad(runtime_);
  check_trace(module);
  const std::vector<PartitionedParameter*> needed = parameters_of_(module);
  gather(needed);
  for (PartitionedParameter* parameter : needed) {
    const Scoped<StreamId> on_stream(runtime_.stream, stream_);
    parameter->active.insert(&module);
    hold_in_recomputation(*parameter);
    wait_for(*parameter);
  }
  if (mode_ == Mode::complete) {
    pop_from_queue(needed);
    prefetch();
  }
  ++step_;
}

// update_recompute_parameters. What is trained is released by its own backward.
void ParameterCoordinator::hold_in_recomputation(PartitionedParameter& parameter) {
  const bool is_recomputation = runtime_.thread != eager::Thread::main && !is_in_backward_;
  if (is_recent_ && is_recomputation && !in_backward_.empty() && !parameter.tensor->requires_grad) {
    recomputed_[in_backward_.back()].push_back(&parameter);
    parameter.active.insert(in_backward_.back());
  }
}

std::vector<PartitionedParameter*> ParameterCoordinator::take_recomputed(const nn::Module& module) {
  auto node = recomputed_.extract(&module);
  return node.empty() ? std::vector<PartitionedParameter*>{} : std::move(node.mapped());
}

void ParameterCoordinator::fetch_in_backward(const nn::Module& module) {
  if (std::ranges::find(in_backward_, &module) == in_backward_.end()) {
    in_backward_.push_back(&module);
  }
  const Scoped<bool> in_backward(is_in_backward_, true);
  fetch(module);
}

void ParameterCoordinator::pass_in_backward(const nn::Module& module) {
  fetch_in_backward(module);
  passed_.push_back(&module);
}

void ParameterCoordinator::leave_for(const nn::Module& next) {
  const eager::NoGrad no_grad(runtime_);
  std::erase_if(passed_, [&](const nn::Module* module) {
    const bool is_left = recomputed_.contains(module) && !contains(*module, next);
    if (is_left) {
      release_for(*module, take_recomputed(*module));
      std::erase(in_backward_, module);
    }
    return is_left;
  });
}

// The last one first; what persists stays.
void ParameterCoordinator::release_leftovers() {
  passed_.clear();
  while (!in_backward_.empty()) {
    const nn::Module& module = *in_backward_.back();
    in_backward_.pop_back();
    release_for(module, parameters_of_(module));
    release_for(module, take_recomputed(module));
  }
}

void ParameterCoordinator::release_for(const nn::Module& module,
                                       const std::vector<PartitionedParameter*>& parameters) {
  for (PartitionedParameter* parameter : parameters) {
    parameter->active.erase(&module);
    if (!parameter->persists) {
      release(*parameter);
    }
  }
}

// __all_gather_params: gathers those that are neither available nor being gathered, first those
// that have a second copy, from their group.
void ParameterCoordinator::gather(std::vector<PartitionedParameter*> parameters) {
  std::erase_if(parameters, [](const PartitionedParameter* parameter) {
    return parameter->status != ParameterStatus::partitioned;
  });
  if (parameters.empty()) {
    return;
  }
  for (PartitionedParameter* parameter : parameters) {
    available_ += parameter->numel;
    buffers_.swap_in(*parameter);
  }
  const auto others = std::ranges::stable_partition(
      parameters, [](const auto* parameter) { return parameter->second_copy.defined(); });
  gather_over(second_copies_, {parameters.begin(), others.begin()});
  gather_over(group_, {others.begin(), others.end()});
}

void ParameterCoordinator::gather_over(dist::ProcessGroup& group,
                                       const std::vector<PartitionedParameter*>& parameters) {
  if (parameters.empty()) {
    return;
  }
  const Scoped<StreamId> on_stream(runtime_.stream, stream_);
  const auto gathering = std::make_shared<Gather>(group, parameters);
  for (PartitionedParameter* parameter : parameters) {
    flying_.emplace_back(parameter, gathering);
  }
}

void ParameterCoordinator::wait_for(PartitionedParameter& parameter) {
  const auto found =
      std::ranges::find(flying_, &parameter, [](const auto& entry) { return entry.first; });
  if (found != flying_.end()) {
    const auto gathering = std::move(found->second);
    flying_.erase(found);
    gathering->wait();
  }
}

std::int64_t ParameterCoordinator::last_fetched_for(const PartitionedParameter& parameter) const {
  const auto found = fetched_for_.find(&parameter);
  return found == fetched_for_.end() ? -1 : found->second;
}

// What the module itself needs no longer needs prefetching.
void ParameterCoordinator::pop_from_queue(const std::vector<PartitionedParameter*>& needed) {
  const auto missing = std::ranges::count_if(needed, [this](const PartitionedParameter* parameter) {
    return last_fetched_for(*parameter) < step_;
  });
  std::set<const PartitionedParameter*> popped;
  while (!queue_.empty() && std::cmp_less(popped.size(), missing)) {
    const InTrace next = queue_.front();
    queue_.pop_front();
    fetched_for_[next.parameter] = next.step;
    popped.insert(next.parameter);
  }
}

void ParameterCoordinator::prefetch() {
  const std::int64_t limit =
      std::min(options_.max_live_parameters - available_, options_.prefetch_bucket_size);
  std::vector<PartitionedParameter*> chosen;
  std::int64_t numel = 0;
  while (!queue_.empty() && numel < limit) {
    const InTrace next = queue_.front();
    if (next.parameter->is_swapped_out) {
      break;  // read_ahead() brings it to the host first
    }
    queue_.pop_front();
    fetched_for_[next.parameter] = std::max(last_fetched_for(*next.parameter), next.step);
    const bool is_new = std::ranges::find(chosen, next.parameter) == chosen.end();
    if (next.parameter->status == ParameterStatus::partitioned && is_new) {
      chosen.push_back(next.parameter);
      numel += next.parameter->numel;
    }
  }
  gather(std::move(chosen));
  read_ahead();
}

// __prefetch_nvme_param_partitions: what comes after the parameters that are being gathered, up to
// twice their size.
void ParameterCoordinator::read_ahead() {
  std::int64_t in_flight = 0;
  for (const auto& [parameter, gathering] : flying_) {
    in_flight += parameter->numel;
  }
  std::int64_t considered = 0;
  for (const InTrace& next : queue_) {
    if (considered > 2 * in_flight || buffers_.free() == 0) {
      break;
    }
    buffers_.swap_in(*next.parameter);
    considered += next.parameter->numel;
  }
}

void ParameterCoordinator::release_in_backward(const nn::Module& module) {
  release(module);
  release_for(module, take_recomputed(module));
  std::erase(in_backward_, &module);
}

void ParameterCoordinator::release(const nn::Module& module) {
  const bool is_complete = mode_ == Mode::complete;
  const std::set<std::size_t> released = is_complete ? to_release(module) : std::set<std::size_t>{};
  for (PartitionedParameter* parameter : parameters_of_(module)) {
    parameter->active.erase(&module);
    if (!is_complete || released.contains(parameter->id)) {
      release(*parameter);
    }
  }
}

void ParameterCoordinator::release(PartitionedParameter& parameter) {
  if (parameter.status == ParameterStatus::available && parameter.active.empty()) {
    parameter.release();
    buffers_.give_back(parameter);
    available_ -= parameter.numel;
  }
}

// __params_to_release, whose results are kept for all later iterations (functools.lru_cache).
std::set<std::size_t> ParameterCoordinator::to_release(const nn::Module& module) {
  const auto [known, is_new] = known_releases_.try_emplace({&module, step_});
  if (is_new) {
    known->second = find_to_release(module);
  }
  return known->second;
}

std::set<std::size_t> ParameterCoordinator::find_to_release(const nn::Module& module) const {
  std::set<std::size_t> released;
  for (const PartitionedParameter* parameter : parameters_of_(module)) {
    if (!parameter->persists && last_fetched_for(*parameter) <= step_) {
      released.insert(parameter->id);
    }
  }
  std::int64_t traversed = 0;
  for (auto next = static_cast<std::size_t>(step_);
       next < order_.size() && traversed < options_.max_reuse_distance; ++next) {
    for (const PartitionedParameter* parameter : parameters_of_(*order_[next])) {
      released.erase(parameter->id);
      traversed += parameter->numel;
    }
  }
  return released;
}

void ParameterCoordinator::release_all(
    std::span<const std::unique_ptr<PartitionedParameter>> parameters) {
  for (const auto& parameter : parameters) {
    wait_for(*parameter);
    parameter->active.clear();
    release(*parameter);
  }
  available_ = 0;
}

}  // namespace highwater::deepspeed
