#include "workloads/pipelining/pipelined_model.hpp"

#include <utility>
#include <vector>

#include "workloads/plan/pipeline/model_split.hpp"
#include "workloads/plan/training_plan.hpp"

namespace highwater::pipelining {
namespace {

using models::LanguageModel;

/// Several parts under one root, as the optimizer sees them.
class PipelinedModel : public LanguageModel {
 public:
  PipelinedModel(nn::ModelContext& context, std::vector<std::unique_ptr<LanguageModel>> parts)
      : LanguageModel(context), parts_(std::move(parts)) {
    for (const auto& part : parts_) {
      adopt(*part);
    }
  }

  models::Outputs forward(models::Inputs inputs) override {
    return parts_[static_cast<std::size_t>(inputs.chunk)]->forward(std::move(inputs));
  }

  [[nodiscard]] std::vector<LanguageModel*> parts() const {
    std::vector<LanguageModel*> list;
    for (const auto& part : parts_) {
      list.push_back(part.get());
    }
    return list;
  }

 private:
  std::vector<std::unique_ptr<LanguageModel>> parts_;
};

}  // namespace

std::unique_ptr<LanguageModel> make_stage(
    nn::ModelContext& context, std::unique_ptr<LanguageModel> (*make)(nn::ModelContext& context)) {
  const Parallelism& p = context.plan.parallel;
  const std::int64_t layers = shape_of(context.plan.model).layers;
  std::vector<std::unique_ptr<LanguageModel>> parts;
  for (const nn::ModelPart& part :
       parts_of_stage(layers, p.pp, rank_place(p).pp, model_chunks(p))) {
    context.part = part;
    parts.push_back(make(context));
  }
  context.part.reset();
  if (parts.size() == 1) {
    return std::move(parts.front());
  }
  return std::make_unique<PipelinedModel>(context, std::move(parts));
}

std::vector<LanguageModel*> parts_of(LanguageModel& model) {
  const auto* pipelined = dynamic_cast<const PipelinedModel*>(&model);
  return pipelined != nullptr ? pipelined->parts() : std::vector<LanguageModel*>{&model};
}

}  // namespace highwater::pipelining
