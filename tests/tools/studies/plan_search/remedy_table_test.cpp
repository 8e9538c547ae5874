// What a remedy is said to cost is what its options do.
#include "tools/studies/plan_search/remedy_table.hpp"

#include <catch2/catch.hpp>

using namespace highwater;

namespace {

/// The costs of the rows that offload something of `plan`.
std::vector<std::string> offload_costs(const TrainingPlan& plan) {
  std::vector<std::string> costs;
  for (const RemedyRow& row : remedy_table()) {
    if (find_word(row.options(plan), "offload") != nullptr) {
      costs.emplace_back(row.costs);
    }
  }
  return costs;
}

}  // namespace

TEST_CASE(
    "remedies: FSDP offloads parameters and gradients as well, DeepSpeed optimizer states only",
    "[cli][simulate]") {
  TrainingPlan plan;
  CHECK(offload_costs(plan).empty());
  plan.parallel.dp = 2;
  for (const DataParallel kind : {DataParallel::fsdp1, DataParallel::fsdp2}) {
    plan.parallel.dp_kind = kind;
    CHECK(offload_costs(plan) ==
          std::vector<std::string>{
              "keeps parameters, gradients and optimizer states in host memory"});
  }
  plan.parallel.dp_kind = DataParallel::zero2;
  CHECK(offload_costs(plan) == std::vector<std::string>{"keeps optimizer states in host memory"});
  plan.parallel.offload = Offload::optimizer;
  CHECK(offload_costs(plan).empty());
}
