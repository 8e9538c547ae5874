// Modules that are not trained; the recordings with -freeze in their names are compared with all
// others.
#include <catch2/catch.hpp>

#include "traces/error.hpp"
#include "workloads/plan/catalog/presets.hpp"
#include "workloads/plan/training_plan.hpp"
#include "workloads/training/parameters.hpp"

using namespace highwater;
using Catch::Matchers::Contains;

namespace {

std::int64_t trained(std::vector<std::string> frozen) {
  TrainingPlan plan;
  plan.model = model_preset("gpt2");
  plan.frozen = std::move(frozen);
  return trainable_elements(plan);
}

}  // namespace

TEST_CASE("freeze: what is named has no gradients, by the last parts of names", "[freeze]") {
  const std::int64_t all = trained({});
  CHECK(all - trained({"wte"}) == 50257 * 768);
  // A block: two norms, attention's products and those of the feed-forward part.
  const std::int64_t block = 2 * 2 * 768 + 768 * 4 * 768 + 4 * 768 + 768 * 8 * 768 + 5 * 768;
  CHECK(all - trained({"h.1"}) == block);
  CHECK(all - trained({"transformer.h.1", "h.10"}) == 2 * block);
  CHECK(all - trained({"h.0.ln_1.bias"}) == 768);
  CHECK(trained({"all-but:h.1", "h.2"}) == 2 * block);
}

TEST_CASE("freeze: a name that the model has not is refused", "[freeze]") {
  CHECK_THROWS_WITH(trained({"embeddings"}), Contains("no module called embeddings"));
}
