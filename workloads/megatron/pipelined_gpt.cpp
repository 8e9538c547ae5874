#include "workloads/megatron/pipelined_gpt.hpp"

#include <string>
#include <utility>
#include <vector>

#include "workloads/plan/pipeline/stage_layers.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::megatron {
namespace {

std::vector<Stage> stages_of(const Config& config, const Parallelism& p) {
  const int stage = rank_place(p).pp;
  const int chunks = model_chunks(p);
  std::vector<Stage> stages;
  for (const auto& range : dist::stage_layers(config.layers, p.pp, stage, chunks)) {
    stages.push_back({.first_layer = range.first,
                      .layers = range.count,
                      .has_embedding = range.first == 0 && stage == 0,
                      .has_head = range.first + range.count == config.layers && stage == p.pp - 1});
  }
  return stages;
}

/// Several chunks under one root, as the optimizer and DDP see them.
class PipelinedGpt : public models::LanguageModel {
 public:
  PipelinedGpt(nn::ModelContext& context, const Config& config, const std::vector<Stage>& stages)
      : LanguageModel(context) {
    for (std::size_t i = 0; i < stages.size(); ++i) {
      chunks_.push_back(make_gpt(*this, std::to_string(i), config, stages[i]));
    }
  }

  models::Outputs forward(models::Inputs inputs) override {
    return chunks_[static_cast<std::size_t>(inputs.chunk)]->forward(std::move(inputs));
  }

 private:
  std::vector<std::unique_ptr<models::LanguageModel>> chunks_;
};

}  // namespace

std::unique_ptr<models::LanguageModel> make_stage(nn::ModelContext& context) {
  const Config config = config_of(context.plan.model.config).value();
  const std::vector<Stage> stages = stages_of(config, context.plan.parallel);
  if (stages.size() == 1) {
    return make_gpt(context, config, stages.front());
  }
  return std::make_unique<PipelinedGpt>(context, config, stages);
}

}  // namespace highwater::megatron
