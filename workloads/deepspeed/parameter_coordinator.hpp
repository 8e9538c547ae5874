// ZeRO-3's coordinator: which parameters are gathered when, how far ahead, and when they are
// released.
//
// Source: DeepSpeed 0.16.4, and release_leftovers() and recomputed parameters 0.19.8,
// runtime/zero/partitioned_param_coordinator.py (PartitionedParameterCoordinator). The first
// forward and backward record the order of modules. From the next forward on each call of a module
// also gathers the parameters that come next, up to prefetch_bucket_size elements and never more
// than max_live_parameters, and a module's parameters stay if they are needed again within
// max_reuse_distance elements.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "workloads/deepspeed/nvme.hpp"
#include "workloads/deepspeed/partitioned_parameter.hpp"
#include "workloads/plan/deepspeed_release.hpp"
#include "workloads/plan/zero_options.hpp"

namespace highwater::deepspeed {

class ParameterCoordinator {
 public:
  /// `parameters_of` names the parameters that a module itself owns.
  using Owned = std::function<std::vector<PartitionedParameter*>(const nn::Module&)>;

  /// `second_copies` are the ranks that share those.
  ParameterCoordinator(dist::ProcessGroup& group, dist::ProcessGroup& second_copies,
                       const TrainingPlan& plan, Owned parameters_of);

  /// reset_step: a forward of the whole model begins.
  void begin_forward();

  /// trace_prologue, record_module and fetch_sub_module: a module is about to be used.
  void fetch(const nn::Module& module);

  /// The same in backward.
  void fetch_in_backward(const nn::Module& module);

  /// The same of a module without identity functions, which is left unnoticed.
  void pass_in_backward(const nn::Module& module);

  /// Backward comes to `next`: modules passed before that do not contain it would have released
  /// what was recomputed while they were the last one.
  void leave_for(const nn::Module& next);

  /// release_sub_module.
  void release(const nn::Module& module);

  /// The same in backward.
  void release_in_backward(const nn::Module& module);

  /// release_backward_leftovers: modules whose arguments needed no gradient, so that nothing told
  /// that their backward was over.
  void release_leftovers();

  /// release_and_reset_all: `parameters` are those of the model, in order.
  void release_all(std::span<const std::unique_ptr<PartitionedParameter>> parameters);

 private:
  enum class Mode : std::uint8_t { invalid, record, complete };

  struct InTrace {
    PartitionedParameter* parameter = nullptr;
    std::int64_t step = 0;  ///< of the module that uses it
  };

  void wait_for_flying();
  void complete_trace();
  void compare_over_ranks(std::size_t numbers);
  void broadcast_numbers(std::size_t count);
  void check_trace(const nn::Module& module);
  void gather(std::vector<PartitionedParameter*> parameters);
  void gather_over(dist::ProcessGroup& group, const std::vector<PartitionedParameter*>& parameters);
  void wait_for(PartitionedParameter& parameter);
  void pop_from_queue(const std::vector<PartitionedParameter*>& needed);
  void prefetch();
  void read_ahead();
  void release(PartitionedParameter& parameter);
  void hold_in_recomputation(PartitionedParameter& parameter);
  [[nodiscard]] std::vector<PartitionedParameter*> take_recomputed(const nn::Module& module);
  void release_for(const nn::Module& module, const std::vector<PartitionedParameter*>& parameters);
  [[nodiscard]] std::int64_t last_fetched_for(const PartitionedParameter& parameter) const;
  std::set<std::size_t> to_release(const nn::Module& module);
  std::set<std::size_t> find_to_release(const nn::Module& module) const;

  dist::ProcessGroup& group_;
  dist::ProcessGroup& second_copies_;
  eager::Runtime& runtime_;
  Zero options_;
  Owned parameters_of_;
  StreamId stream_;  ///< of all-gathers
  Mode mode_ = Mode::invalid;
  std::vector<const nn::Module*> order_;
  std::vector<InTrace> parameter_order_;
  std::deque<InTrace> queue_;
  std::map<const PartitionedParameter*, std::int64_t> fetched_for_;
  std::vector<std::pair<PartitionedParameter*, std::shared_ptr<Gather>>> flying_;
  std::map<std::pair<const nn::Module*, std::int64_t>, std::set<std::size_t>> known_releases_;
  std::vector<const nn::Module*> passed_;       ///< without identity functions, and in backward
  std::vector<const nn::Module*> in_backward_;  ///< fetched in backward and not yet released
  /// ds_recompute_parameters: frozen parameters that a recomputation fetched during the backward of
  /// a module, which holds them until that is over.
  std::map<const nn::Module*, std::vector<PartitionedParameter*>> recomputed_;
  bool is_recent_;               ///< since 0.19
  bool is_in_backward_ = false;  ///< rather than in a forward or a recomputation
  std::int64_t step_ = 0;
  std::int64_t available_ = 0;  ///< elements
  SwapBuffers buffers_;         ///< of parameters on NVMe
};

}  // namespace highwater::deepspeed
