#include "workloads/pipelining/wrapped_stages.hpp"

#include <unordered_map>
#include <utility>

#include "workloads/nn/backward_pass.hpp"
#include "workloads/pipelining/pipelined_model.hpp"

namespace highwater::pipelining {
namespace {

using eager::Tensor;

/// Of shards of several stages, all over the same ranks.
class StagesResharding : public optim::Resharding {
 public:
  explicit StagesResharding(const std::vector<std::unique_ptr<Wrapper>>& stages)
      : first_(*stages.front()->resharding()) {
    for (const auto& stage : stages) {
      for (const Tensor& shard : stage->parameters()) {
        owners_.emplace(shard.get(), stage->resharding());
      }
    }
  }

  [[nodiscard]] std::int64_t whole_rows(const Tensor& shard) const override {
    return owners_.at(shard.get())->whole_rows(shard);
  }

  Tensor full_norm(const Tensor& partial) const override { return first_.full_norm(partial); }

  Tensor gather(const Tensor& shard, std::int64_t rows) const override {
    return first_.gather(shard, rows);
  }

  [[nodiscard]] int ranks() const override { return first_.ranks(); }

  Tensor redistribute(const Tensor& local, optim::MatrixSize size, optim::Layout from,
                      optim::Layout to) const override {
    return first_.redistribute(local, size, from, to);
  }

 private:
  const optim::Resharding& first_;
  std::unordered_map<const eager::TensorImpl*, const optim::Resharding*> owners_;
};

}  // namespace

WrappedStages::WrappedStages(models::LanguageModel& model, const Wrap& wrap) {
  for (models::LanguageModel* part : parts_of(model)) {
    stages_.push_back(wrap(*part, stages_.empty() ? ModelOrder::first : ModelOrder::further));
  }
  if (stages_.front()->resharding() != nullptr) {
    resharding_ = std::make_unique<StagesResharding>(stages_);
  }
}

models::Outputs WrappedStages::forward(models::Inputs inputs) {
  return stages_[static_cast<std::size_t>(inputs.chunk)]->forward(std::move(inputs));
}

std::vector<Tensor> WrappedStages::parameters() const {
  std::vector<Tensor> all;
  for (const auto& stage : stages_) {
    const std::vector<Tensor> own = stage->parameters();
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

std::vector<std::vector<Tensor>> WrappedStages::parameter_groups(int groups) const {
  std::vector<std::vector<Tensor>> merged;
  for (const auto& stage : stages_) {
    const std::vector<std::vector<Tensor>> own = stage->parameter_groups(groups);
    merged.resize(own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      merged[i].insert(merged[i].end(), own[i].begin(), own[i].end());
    }
  }
  return merged;
}

void WrappedStages::set_gradient_sync(GradientSync sync) {
  for (const auto& stage : stages_) {
    stage->set_gradient_sync(sync);
  }
}

void WrappedStages::stage_backward(int chunk, BackwardPass pass,
                                   const std::function<void()>& backward) {
  stages_[static_cast<std::size_t>(chunk)]->stage_backward(chunk, pass, backward);
}

}  // namespace highwater::pipelining
