// A model whose gradients are summed over the ranks at once, as one copy of all of them, before the
// optimizer's step.
//
// Source: Colossal-AI 0.5, legacy/engine/gradient_handler/_sequence_parallel_gradient_handler.py,
// utils.py (bucket_allreduce).
#pragma once

#include "workloads/distributed/process_group.hpp"
#include "workloads/plan/parallelism.hpp"
#include "workloads/strategy/wrapper.hpp"

namespace highwater::colossalai {

class SummedGradients : public BareModel {
 public:
  SummedGradients(models::LanguageModel& model, const Parallelism& parallel)
      : BareModel(model), ranks_(model.runtime(), parallel.cp, parallel.backend) {}

  void finish_gradients() override;

 private:
  dist::ProcessGroup ranks_;
};

}  // namespace highwater::colossalai
